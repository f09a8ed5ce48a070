import type { Token, Tokens } from 'marked'
import { Fragment, memo, type ReactNode } from 'react'
import { decodeEntities } from './entities.ts'
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
