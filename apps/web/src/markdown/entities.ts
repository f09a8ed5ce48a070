import { own } from '../ui/own.ts'

const NAMED: Readonly<Record<string, string>> = {
  amp: '&',
  lt: '<',
  gt: '>',
  quot: '"',
  apos: "'",
  nbsp: '\u00a0',
  hellip: '…',
  mdash: '—',
  ndash: '–',
  rarr: '→',
  larr: '←',
  times: '×',
  copy: '©',
}
const MAX_CODE_POINT = 0x10ffff

/** Entities as the characters they name; the result is text for React, never HTML. */
export function decodeEntities(text: string): string {
  if (!text.includes('&')) return text
  return text.replace(/&(?:#(\d{1,7})|#[xX]([\da-fA-F]{1,6})|([a-zA-Z]{2,8}));/g, (whole, dec, hex, name) => {
    if (name !== undefined) return own(NAMED, name) ?? whole
    const code = dec === undefined ? Number.parseInt(hex, 16) : Number.parseInt(dec, 10)
    return code > 0 && code <= MAX_CODE_POINT ? String.fromCodePoint(code) : whole
  })
}
