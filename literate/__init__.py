"""The toolchain that makes a program, a site and notebooks of the chapters."""
