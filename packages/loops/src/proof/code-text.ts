/** Code of JavaScript or Python in two parts, so that a rule about code does not fire for a text, nor the other way round. */
export interface CodeText {
  /** Without comments, and with empty texts: `f('a')` is `f('')`. What a template has between `${` and `}` is code. */
  code: string
  /** Contents of the texts and regular expressions. */
  texts: string[]
}

export function codeTextOf(file: string, text: string): CodeText {
  return /\.pyi?$/.test(file) ? pythonText(text) : scriptText(text)
}

/** Letters, digits and the signs of paths that are written as `\x61`, `\u0061` or `\u{61}`: a name may hide in them. */
export function withoutEscapes(text: string): string {
  return text.replace(ESCAPE, (whole, braced?: string, four?: string, two?: string) => {
    const char = String.fromCodePoint(Math.min(Number.parseInt(braced ?? four ?? two ?? '0', 16), 0x10ffff))
    return /[\w$./:@-]/.test(char) ? char : whole
  })
}

const ESCAPE = /\\u\{([0-9a-f]{1,6})\}|\\u([0-9a-f]{4})|\\x([0-9a-f]{2})/gi

function pythonText(text: string): CodeText {
  const texts: string[] = []
  const code = text.replace(PYTHON, part => {
    if (part.startsWith('#')) return ''
    const quote = /^(?:"{3}|'{3}|["'])/.exec(part)?.[0] ?? '"'
    texts.push(part.slice(quote.length, -quote.length))
    return `${quote}${quote}`
  })
  return { code, texts }
}

const PYTHON = /#[^\n]*|"{3}[\s\S]*?"{3}|'{3}[\s\S]*?'{3}|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'/g

function scriptText(text: string): CodeText {
  const texts: string[] = []
  let code = ''
  /** Number of braces that are open in each open `${`. */
  const braces: number[] = []
  let at = 0
  const template = () => {
    let said = ''
    for (; at < text.length && text[at] !== '`'; at += 1) {
      if (text.startsWith('${', at)) {
        braces.push(0)
        code += '${'
        at += 2
        break
      }
      if (text[at] === '\\') at += 1
      said += text[at] ?? ''
    }
    texts.push(said)
    if (text[at] !== '`' || text.startsWith('${', at - 2)) return
    code += '`'
    at += 1
  }
  while (at < text.length) {
    const char = text[at] ?? ''
    PART.lastIndex = at
    const part = PART.exec(text)?.[0]
    const isPattern = part?.startsWith('/') && !/^\/[/*]/.test(part)
    if (part !== undefined && !(isPattern && !BEFORE_PATTERN.test(code))) {
      at += part.length
      if (/^\/[/*]/.test(part)) continue
      texts.push(part.slice(1, -1))
      code += isPattern ? '/ /' : `${part[0]}${part[0]}`
      continue
    }
    at += 1
    code += char
    const open = braces.length - 1
    if (char === '`') template()
    else if (char === '{' && open >= 0) braces[open] = (braces[open] ?? 0) + 1
    else if (char === '}' && open >= 0) {
      if (braces[open] === 0) {
        braces.pop()
        template()
      } else braces[open] = (braces[open] ?? 0) - 1
    }
  }
  return { code, texts }
}

/** A comment, a text or a pattern. */
const PART =
  /\/\/[^\n]*|\/\*[\s\S]*?\*\/|"(?:\\[\s\S]|[^"\\\n])*"|'(?:\\[\s\S]|[^'\\\n])*'|\/(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\\n[])+\/[a-z]*/y
/** A slash after it begins a pattern; after a name or a closing bracket it divides. */
const BEFORE_PATTERN =
  /(?:^|[(,=:[!&|?{};+\-*%<>~^]|\b(?:return|typeof|case|in|of|void|delete|throw|do|else|await|yield))\s*$/
