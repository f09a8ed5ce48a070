import { Component, type ReactNode } from 'react'
import { PageFault } from './PageFault.tsx'

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
