/** Editors show texts as Markdown, which the output of a command is not. */
export function fenced(text: string, language: string): string {
  const inside = text.match(/`{3,}/g) ?? []
  const fence = '`'.repeat(Math.max(3, ...inside.map(({ length }) => length + 1)))
  return `${fence}${language}\n${text.replace(/\n$/, '')}\n${fence}`
}
