-- What pandoc has no words for: alternative texts in a PDF, names of files, numbers of formulas.
local is_typst = FORMAT == "typst"
local function typst(text) return pandoc.RawInline("typst", text) end

function Image(image)
  if not is_typst then return end
  local alt = pandoc.json.encode(pandoc.utils.stringify(image.caption))
  local width = tonumber(image.attributes.width) * 0.75
  return typst(('#image("typst-%s", width: %spt, alt: %s)'):format(image.src, width, alt))
end

-- pandoc 3.9 writes an operator as a text, after which typst leaves a space; a large bracket as one
-- of the text; "\ " as a space of no width; and ⊙ by a name that typst 0.15 has dropped.
function Math(math)
  if not is_typst then return end
  local set = pandoc.write(pandoc.Pandoc({ pandoc.Plain({ math }) }), "typst"):gsub("%s+$", "")
  for name in math.text:gmatch("\\operatorname{(%a+)}") do
    set = set:gsub('([^(])"' .. name .. '"', '%1op("' .. name .. '")')
  end
  for _, sign in ipairs({ "\\.", "[%a.]+" }) do
    local large = "#scale%(x: (%d+%%), y: %d+%%%)%[(" .. sign .. ")%]"
    set = set:gsub(large, "stretch(%2, size: #%1)")
  end
  return typst((set:gsub("#h%(0em%)", "#h(0.25em)"):gsub("dot%.circle", "dot.o")))
end

-- References on paper, with the addresses that a click finds elsewhere.
function Pandoc(book)
  if not is_typst then return end
  local is_list
  for i, block in ipairs(book.blocks) do
    if block.t == "Header" then
      is_list = block.identifier:match("%.references$")
    elseif is_list then
      book.blocks[i] = block:walk({ Link = function(link)
        if link.target:match("^https?:") then
          return { link, typst(("#address(%s)"):format(pandoc.json.encode(link.target))) }
        end
      end })
    end
  end
  return book
end

function CodeBlock(code)
  local title = code.attributes.title
  code.attributes.title = nil
  if not title then return code end
  if is_typst then
    return { pandoc.RawBlock("typst", ("#file(%s)"):format(pandoc.json.encode(title))), code }
  end
  return { pandoc.Div(pandoc.Para(pandoc.Code(title)), { class = "file" }), code }
end

function BlockQuote(quote)
  local first = quote.content[1]
  if is_typst and first.t == "Para" and #first.content == 1 and first.content[1].t == "Strong" then
    first.content:insert(1, typst("#title["))
    first.content:insert(typst("]"))
  end
  return quote
end

function Table(table)  -- in the middle of the page, and its words on the left
  for _, column in ipairs(table.colspecs) do
    if column[1] == "AlignDefault" then column[1] = "AlignLeft" end
  end
  return table
end

-- Sections of a page outside of a part have the level of chapters. In an EPUB, where chapters
-- are files, two divs keep each with its page, and in the contents, where theirs are not listed.
local function outside(blocks)
  for _, block in ipairs(blocks) do
    if block.t == "Header" and block.level == 3 then block.classes = { "unnumbered", "unlisted" } end
  end
  if is_typst then
    blocks:insert(1, pandoc.RawBlock("typst", "#outside["))
    blocks:insert(pandoc.RawBlock("typst", "]"))
    return blocks
  end
  local page, sections = pandoc.Blocks({}), {}
  for _, block in ipairs(blocks) do
    if block.t == "Header" and block.level == 2 then table.insert(sections, {}) end
    table.insert(sections[#sections] or page, block)
  end
  for _, section in ipairs(sections) do
    page:insert(pandoc.Div({ pandoc.Div(section) }))
  end
  return page
end

function Div(div)
  if div.classes:includes("outside") then
    return outside(div.content)
  end
  local number = div.attributes.number
  div.attributes.number = nil
  if not number then return div end
  if is_typst then
    div.content:insert(1, pandoc.RawBlock("typst", ("#numbered([%s])["):format(number)))
    div.content:insert(pandoc.RawBlock("typst", "]"))
    return div
  end
  div.classes = { "numbered" }
  div.content:insert(pandoc.Plain(pandoc.Span(number, { class = "number" })))
  return div
end
