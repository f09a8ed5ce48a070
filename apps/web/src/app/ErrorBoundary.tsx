import { Component, type ReactNode } from 'react'
import { Button } from '../ui/Button.tsx'
import { Empty } from '../ui/Empty.tsx'
import { messageOf } from '../ui/error-message.ts'

/** A fault of the page's own. The agents and their logs know nothing of it. */
export class ErrorBoundary extends Component<{ children: ReactNode }, { problem: string | null }> {
  override state = { problem: null }

  static getDerivedStateFromError(error: unknown): { problem: string } {
    return { problem: messageOf(error) }
  }

  override render(): ReactNode {
    if (this.state.problem === null) return this.props.children
    return (
      <Empty title="This page has a fault">
        <p>{this.state.problem}</p>
        <p>Your agents work on, and nothing is lost.</p>
        <Button onClick={() => location.reload()}>Load the page again</Button>
      </Empty>
    )
  }
}
