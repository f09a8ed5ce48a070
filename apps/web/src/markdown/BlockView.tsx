import type { Token, Tokens } from 'marked'
import { memo, type ReactNode } from 'react'
import { ScrollRegion } from '../ui/virtual/ScrollRegion.tsx'
import { CodeBlock } from './CodeBlock.tsx'
import { Inline } from './Inline.tsx'

/** One block of Markdown. `live`: it is still being written, so nothing expensive is done with it yet. */
export const BlockView = memo(function BlockView({
  token,
  live,
}: {
  token: Token
  live: boolean
}): ReactNode {
  switch (token.type) {
    case 'heading': {
      // The page's own headings come first: those of an answer begin below them.
      const Tag = `h${Math.min((token as Tokens.Heading).depth + 2, 6)}` as 'h3'
      return (
        <Tag>
          <Inline tokens={token.tokens} />
        </Tag>
      )
    }
    case 'paragraph':
      return (
        <p>
          <Inline tokens={token.tokens} />
        </p>
      )
    case 'text':
      return <Inline tokens={token.tokens ?? [token]} />
    case 'code': {
      const { text, lang } = token as Tokens.Code
      return <CodeBlock code={text} language={lang?.split(/\s/, 1)[0] ?? ''} live={live} />
    }
    case 'blockquote':
      return <blockquote>{blocksOf(token.tokens, live)}</blockquote>
    case 'list':
      return <ListView list={token as Tokens.List} live={live} />
    case 'table':
      return <TableView table={token as Tokens.Table} />
    case 'hr':
      return <hr />
    case 'space':
    case 'def':
      return null
    default:
      return <p>{token.raw.trim()}</p>
  }
})

function blocksOf(tokens: readonly Token[] | undefined, live: boolean): ReactNode {
  return tokens?.map((token, index) => <BlockView key={index} token={token} live={live} />)
}

function ListView({ list, live }: { list: Tokens.List; live: boolean }) {
  const items = list.items.map((item, index) => (
    <li key={index} className={item.task ? 'markdown__task' : undefined}>
      {item.task ? (
        <input
          type="checkbox"
          checked={item.checked ?? false}
          disabled
          aria-label={item.checked ? 'done' : 'to do'}
        />
      ) : null}
      {blocksOf(item.task ? item.tokens.filter(token => token.type !== 'checkbox') : item.tokens, live)}
    </li>
  ))
  const start = typeof list.start === 'number' && list.start !== 1 ? list.start : undefined
  return list.ordered ? <ol start={start}>{items}</ol> : <ul>{items}</ul>
}

function TableView({ table }: { table: Tokens.Table }) {
  return (
    <ScrollRegion role="group" className="markdown__table" label="Table">
      <table>
        <thead>
          <tr>
            {table.header.map((cell, column) => (
              <th key={column} className={alignClass(table.align[column])}>
                <Inline tokens={cell.tokens} />
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {table.rows.map((row, index) => (
            <tr key={index}>
              {row.map((cell, column) => (
                <td key={column} className={alignClass(table.align[column])}>
                  <Inline tokens={cell.tokens} />
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </ScrollRegion>
  )
}

function alignClass(align: Tokens.Table['align'][number] | undefined): string | undefined {
  return align === 'right' || align === 'center' ? `markdown__cell--${align}` : undefined
}
