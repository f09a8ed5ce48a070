import { Button } from '../ui/Button.tsx'
import { Empty } from '../ui/Empty.tsx'
import { messageOf } from '../ui/error-message.ts'

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
