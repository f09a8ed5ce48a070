const SCHEMES = new Set(['http:', 'https:', 'mailto:'])

/**
 * The address if it may be a link, else undefined. An agent repeats what it reads anywhere, so only addresses that open
 * a page or a mail are links; everything else, `javascript:` first, stays text.
 */
export function safeLink(href: string): string | undefined {
  // Browsers drop control characters inside a scheme; whoever writes them means no good.
  if (hasControlCharacter(href)) return undefined
  try {
    const url = new URL(href)
    return SCHEMES.has(url.protocol) ? url.href : undefined
  } catch {
    return undefined
  }
}

function hasControlCharacter(text: string): boolean {
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i)
    if (code <= 0x20 || (code >= 0x7f && code <= 0x9f)) return true
  }
  return false
}
