import { Link } from '@tanstack/react-router'
import { Component, type ReactNode } from 'react'
import { Button } from '../ui/controls/Button.tsx'
import { useNoField } from '../ui/keys/use-no-field.ts'
import { Empty } from '../ui/marks/Empty.tsx'
import { messageOf } from '../ui/text/error-message.ts'

/** A fault of the page's own. The agents and their logs know nothing of it. */
export function PageFault({ error }: { error: unknown }) {
  useNoField()
  return (
    <Empty title="This page has a fault">
      <p>{messageOf(error)}</p>
      <p>Your agents work on, and nothing is lost.</p>
      <Button onClick={() => location.reload()}>Load the page again</Button>
    </Empty>
  )
}

interface Fault {
  error: unknown
}

/** For what the router itself cannot catch. */
export class ErrorBoundary extends Component<{ children: ReactNode }, { fault: Fault | null }> {
  override state: { fault: Fault | null } = { fault: null }

  static getDerivedStateFromError(error: unknown): { fault: Fault } {
    return { fault: { error } }
  }

  override render(): ReactNode {
    return this.state.fault === null ? this.props.children : <PageFault error={this.state.fault.error} />
  }
}

export function NotFound() {
  useNoField()
  return (
    <Empty page title="There is no such page">
      <Link to="/">To the start page</Link>
    </Empty>
  )
}
