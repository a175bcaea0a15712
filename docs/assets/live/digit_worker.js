/** Reads digits away from the page, which stays quick: the model's address first, then drawings. */
import { findInk, toImage, toSquare } from "./images.js";
import { softmax } from "./layers.js";
import { readTensors } from "./tensors.js";
import { ViT } from "./vit.js";

let loading; // the model, or the promise of it

onmessage = async ({ data: { id, url, opacity, height, width } }) => {
  try {
    const model = await (loading ??= load(url));
    if (opacity) postMessage({ id, ...answer(model, findInk(opacity), height, width) });
  } catch {
    postMessage({ id, error: true });
  }
};


async function load(url) {
  const response = await fetch(url);
  if (!response.ok) throw new Error(`${response.status} ${url}`);
  return new ViT(readTensors(await response.arrayBuffer()));
}


/** What is drawn: the image that the model sees, its place, the probabilities, and the rollout. */
function answer(model, ink, height, width) {
  const { square, place } = toSquare(ink, height, width), { labels, threshold } = model;
  const image = toImage(square, model.config.image_size);
  const probabilities = softmax(model.forward(image)), rollout = model.rollout();
  return { image, place, probabilities, rollout, labels, threshold };
}
