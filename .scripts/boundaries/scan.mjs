// Reduces a source file to the input of the boundary rules: its imports, and its code without comments and strings.

/**
 * `code` has the same length and lines as the source; comments and the insides of strings are blanks.
 * `imports` are the literal specifiers of import, export-from, import() and require(), with their line.
 * `texts` are all other strings, with their line.
 */
export function scan(source) {
  const { code, strings } = blank(source)
  const imports = []
  const specifiers = new Set()
  for (const match of code.matchAll(IMPORT)) {
    const quote = match.index + match[0].length - 1
    specifiers.add(quote)
    imports.push({ specifier: strings.get(quote), line: lineAt(source, quote), clause: match[0] })
  }
  const others = [...strings].filter(([quote]) => !specifiers.has(quote))
  const texts = others.map(([quote, text]) => ({ text, line: lineAt(source, quote) }))
  return { code, imports, texts, lines: countLines(source) }
}

export function lineAt(source, index) {
  let line = 1
  for (let at = source.indexOf('\n'); at !== -1 && at < index; at = source.indexOf('\n', at + 1)) line += 1
  return line
}

// `from` and `import` straight before a string, or import( and require( before one. `Array.from('x')` is neither.
const IMPORT =
  /\b(?:import|export)\b[^'"`;=()]*\bfrom\s*['"]|\bimport\s*['"]|(?<![.\w])(?:import|require)\s*\(\s*['"`]/g

function countLines(source) {
  const breaks = source.split('\n').length - 1
  return source.endsWith('\n') || source === '' ? breaks : breaks + 1
}

/** Walks the source once; `strings` maps the index of an opening quote to what the string holds. */
function blank(source) {
  const code = source.split('')
  const strings = new Map()
  // One entry per open template literal: the number of open `{` in its current `${`.
  const templates = []
  let at = 0
  while (at < source.length) {
    const pair = source.slice(at, at + 2)
    if (pair === '//') at = erase(at, endOr(source.indexOf('\n', at)))
    else if (pair === '/*') at = erase(at, endOr(source.indexOf('*/', at + 2), 2))
    else if (source[at] === "'" || source[at] === '"') at = quoted(at)
    else if (source[at] === '`') at = template(at + 1, at)
    else if (source[at] === '/' && startsRegex(code, at)) at = regex(at)
    else at = brace(at)
  }
  return { code: code.join(''), strings }

  function endOr(index, extra = 0) {
    return index === -1 ? source.length : index + extra
  }

  function erase(from, to) {
    for (let i = from; i < to; i += 1) if (code[i] !== '\n') code[i] = ' '
    return to
  }

  // A string ends at the end of its line, so an apostrophe in JSX text affects only one line.
  function quoted(start) {
    let end = start + 1
    while (end < source.length && source[end] !== source[start] && source[end] !== '\n')
      end += source[end] === '\\' ? 2 : 1
    strings.set(start, source.slice(start + 1, end))
    erase(start + 1, end)
    return end + 1
  }

  function template(from, quote) {
    let end = from
    while (end < source.length && source[end] !== '`' && source.slice(end, end + 2) !== '${')
      end += source[end] === '\\' ? 2 : 1
    if (quote !== undefined) strings.set(quote, source.slice(from, end))
    erase(from, end)
    if (source[end] !== '$') return end + 1
    templates.push(0)
    return end + 2
  }

  function brace(index) {
    const open = templates.length - 1
    if (open >= 0 && source[index] === '{') templates[open] += 1
    if (open >= 0 && source[index] === '}') {
      if (templates[open] === 0) {
        templates.pop()
        return template(index + 1)
      }
      templates[open] -= 1
    }
    return index + 1
  }

  function regex(start) {
    const line = source.slice(start, endOr(source.indexOf('\n', start)))
    const literal = /^\/(?:[^/[\\]|\\.|\[(?:[^\]\\]|\\.)*\])+\//.exec(line)
    return literal === null ? start + 1 : erase(start + 1, start + literal[0].length - 1) + 1
  }
}

/** A slash divides after a value, starts a regular expression after anything else, and closes a tag in `</`. */
function startsRegex(code, at) {
  let before = at - 1
  while (before >= 0 && /\s/.test(code[before])) before -= 1
  if (before < 0) return true
  if (code[before] === '<') return false
  if (/[)\]}'"`]/.test(code[before])) return false
  if (!/[\w$]/.test(code[before])) return true
  const word = /[\w$]+$/.exec(code.slice(Math.max(0, before - 12), before + 1).join(''))?.[0]
  return ['return', 'typeof', 'case', 'in', 'of', 'do', 'else', 'void', 'await', 'yield', 'throw'].includes(
    word,
  )
}
