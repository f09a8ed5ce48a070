import { type ComponentType, useState } from 'react'
import { Button } from '../../ui/controls/Button.tsx'
import type { ItemNode } from './rows.logic.ts'

/** The newest steps are what one wants to see; a sub-agent can take hundreds. */
const SHOWN_STEPS = 20

/** `View` draws one step, which can hold a sub-agent again. */
export function SubAgent(props: { nodes: readonly ItemNode[]; View: ComponentType<{ node: ItemNode }> }) {
  const { nodes, View } = props
  const [all, setAll] = useState(false)
  const shown = all ? nodes : nodes.slice(-SHOWN_STEPS)
  const hidden = nodes.length - shown.length
  return (
    <div className="sub-agent">
      {hidden > 0 ? (
        <Button look="quiet" size="small" onClick={() => setAll(true)}>
          {`Show ${hidden} earlier`}
        </Button>
      ) : null}
      {shown.map(node => (
        <View key={node.item.seq} node={node} />
      ))}
    </div>
  )
}
