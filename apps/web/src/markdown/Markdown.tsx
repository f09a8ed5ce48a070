import { memo, useRef } from 'react'
import { BlockView } from './BlockView.tsx'
import { type Block, GROUP_SIZE, type MarkdownBlocks, NO_BLOCKS, parseBlocks } from './blocks.logic.ts'
import './markdown.css'

/** Markdown as React elements. HTML in it is shown as the text that it is. */
export const Markdown = memo(function Markdown({ text, live = false }: { text: string; live?: boolean }) {
  const blocks = useRef<MarkdownBlocks>(NO_BLOCKS)
  blocks.current = parseBlocks(text, blocks.current)
  const { groups, tail } = blocks.current
  // What was seen while it was written has a height that the browser remembers. What was never drawn has none.
  const streamed = useRef(live)
  streamed.current ||= live
  const last = groups.at(-1)
  const isOpen = last !== undefined && last.length < GROUP_SIZE
  const all = isOpen ? groups : [...groups, NONE]
  return (
    <div className={streamed.current ? 'markdown markdown--streamed' : 'markdown'}>
      {all.map((group, index) =>
        index < all.length - 1 ? (
          <Group key={group[0]?.key} blocks={group} tail={NONE} live={false} />
        ) : (
          <Group key={(group[0] ?? tail[0])?.key} blocks={group} tail={tail} live={live} />
        ),
      )}
    </div>
  )
})

const NONE: readonly Block[] = []

interface GroupProps {
  blocks: readonly Block[]
  /** Blocks still being written. They are elements of the list already: a finished block keeps its element. */
  tail: readonly Block[]
  live: boolean
}

const Group = memo(function Group({ blocks, tail, live }: GroupProps) {
  const view = (isLive: boolean) => {
    return ({ key, token }: Block) => <BlockView key={key} token={token} live={isLive} />
  }
  return <div className="markdown__group">{[...blocks.map(view(false)), ...tail.map(view(live))]}</div>
})
