import { element } from './dom.ts'

/** Paragraphs, with code in a typewriter face. Everything else of Markdown reads well enough as it is. */
export function richText(text: string): Node[] {
  // At even places what stands between fences, at odd ones what is in them.
  return text
    .split(/^ {0,3}```[^\n`]*\n([\s\S]*?)(?:^ {0,3}```[ \t]*$|(?![\s\S]))/m)
    .flatMap((part, i): HTMLElement[] => {
      if (i % 2 === 1) return [element('pre', 'code', part.replace(/\n$/, ''))]
      const trimmed = part.replace(/^\n+|\s+$/g, '')
      return trimmed === '' ? [] : [element('p', '', ...inline(trimmed))]
    })
}

function inline(text: string): (Node | string)[] {
  return text.split(/`([^`\n]+)`/).map((part, i) => (i % 2 === 1 ? element('code', '', part) : part))
}
