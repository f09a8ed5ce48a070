import type { Token, Tokens } from 'marked'
import { Fragment, memo, type ReactNode } from 'react'
import { own } from '../ui/own.ts'
import { safeLink } from './safe-link.ts'

/** The text of a block: emphasis, code and links. Nothing of it ever becomes HTML. */
export const Inline = memo(function Inline({ tokens }: { tokens: readonly Token[] | undefined }): ReactNode {
  return tokens?.map((token, index) => <Fragment key={index}>{piece(token)}</Fragment>)
})

function piece(token: Token): ReactNode {
  switch (token.type) {
    case 'strong':
      return (
        <strong>
          <Inline tokens={token.tokens} />
        </strong>
      )
    case 'em':
      return (
        <em>
          <Inline tokens={token.tokens} />
        </em>
      )
    case 'del':
      return (
        <del>
          <Inline tokens={token.tokens} />
        </del>
      )
    case 'codespan':
      return <code>{(token as Tokens.Codespan).text}</code>
    case 'br':
      return <br />
    case 'link':
      return <Link href={(token as Tokens.Link).href}>{<Inline tokens={token.tokens} />}</Link>
    case 'image': {
      // A picture from elsewhere would tell its server who reads what; the address is enough.
      const { href, text } = token as Tokens.Image
      return <Link href={href}>{text || href}</Link>
    }
    case 'text':
      return token.tokens ? <Inline tokens={token.tokens} /> : decodeEntities((token as Tokens.Text).text)
    case 'escape':
      return decodeEntities((token as Tokens.Escape).text)
    case 'checkbox':
      return null
    default:
      return token.raw
  }
}

function Link({ href, children }: { href: string; children: ReactNode }) {
  const safe = safeLink(href)
  if (safe === undefined) return <span title={href}>{children}</span>
  return (
    <a href={safe} target="_blank" rel="noopener noreferrer" title={safe}>
      {children}
    </a>
  )
}

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
function decodeEntities(text: string): string {
  if (!text.includes('&')) return text
  return text.replace(/&(?:#(\d{1,7})|#[xX]([\da-fA-F]{1,6})|([a-zA-Z]{2,8}));/g, (whole, dec, hex, name) => {
    if (name !== undefined) return own(NAMED, name) ?? whole
    const code = dec === undefined ? Number.parseInt(hex, 16) : Number.parseInt(dec, 10)
    return code > 0 && code <= MAX_CODE_POINT ? String.fromCodePoint(code) : whole
  })
}
