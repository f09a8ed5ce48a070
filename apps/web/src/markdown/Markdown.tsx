import { memo, useRef } from 'react'
import { BlockView } from './BlockView.tsx'
import { type Block, type MarkdownBlocks, NO_BLOCKS, parseBlocks } from './blocks.logic.ts'
import './markdown.css'

/** Markdown as React elements. HTML in it is shown as the text that it is. */
export const Markdown = memo(function Markdown({ text, live = false }: { text: string; live?: boolean }) {
  const blocks = useRef<MarkdownBlocks>(NO_BLOCKS)
  blocks.current = parseBlocks(text, blocks.current)
  const { groups, tail } = blocks.current
  // What was seen while it was written has a height that the browser remembers. What was never drawn has none.
  const streamed = useRef(live)
  streamed.current ||= live
  return (
    <div className={streamed.current ? 'markdown markdown--streamed' : 'markdown'}>
      {groups.map(group => (
        <Group key={group[0]?.key} blocks={group} live={false} />
      ))}
      <Group blocks={tail} live={live} />
    </div>
  )
})

const Group = memo(function Group({ blocks, live }: { blocks: readonly Block[]; live: boolean }) {
  return (
    <div className="markdown__group">
      {blocks.map(({ key, token }) => (
        <BlockView key={key} token={token} live={live} />
      ))}
    </div>
  )
})
