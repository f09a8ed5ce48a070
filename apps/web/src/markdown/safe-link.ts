const SCHEMES = new Set(['http:', 'https:', 'mailto:'])

/**
 * The address if it may be a link, else undefined. An agent repeats what it reads anywhere, so only addresses that open
 * a page or a mail are links; everything else, `javascript:` first, stays text.
 */
export function safeLink(href: string): string | undefined {
  // Browsers drop control characters inside a scheme; whoever writes them means no good.
  if (/[\u0000-\u0020\u007f-\u009f]/.test(href)) return undefined
  try {
    const url = new URL(href)
    return SCHEMES.has(url.protocol) ? url.href : undefined
  } catch {
    return undefined
  }
}
