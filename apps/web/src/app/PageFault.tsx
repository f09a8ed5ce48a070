import { Button } from '../ui/controls/Button.tsx'
import { Empty } from '../ui/marks/Empty.tsx'
import { messageOf } from '../ui/text/error-message.ts'

/** A fault of the page's own. The agents and their logs know nothing of it. */
export function PageFault({ error }: { error: unknown }) {
  return (
    <Empty title="This page has a fault">
      <p>{messageOf(error)}</p>
      <p>Your agents work on, and nothing is lost.</p>
      <Button onClick={() => location.reload()}>Load the page again</Button>
    </Empty>
  )
}
