/** Decodes a name as git quotes it: one with a line break, a quote or a control character. */
export function unquotedPath(name: string): string {
  const [, inside] = /^"(.*)"$/s.exec(name) ?? []
  if (inside === undefined) return name
  const bytes: Buffer[] = []
  for (const [, octal, letter, plain] of inside.matchAll(/\\([0-7]{3})|\\(.)|([^\\]+)/gs)) {
    if (octal !== undefined) bytes.push(Buffer.from([Number.parseInt(octal, 8)]))
    else bytes.push(Buffer.from(letter === undefined ? (plain ?? '') : (ESCAPES[letter] ?? letter)))
  }
  return Buffer.concat(bytes).toString('utf8')
}

const ESCAPES: Readonly<Record<string, string>> = {
  a: '\x07',
  b: '\b',
  t: '\t',
  n: '\n',
  v: '\v',
  f: '\f',
  r: '\r',
}
