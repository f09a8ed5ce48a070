import { Empty } from '../ui/Empty.tsx'

/** Without the link of this start of the server nobody gets in. */
export function SignedOut({ message }: { message?: string }) {
  return (
    <main className="signed-out">
      <Empty title="Open the link of the server">
        <p>{message ?? 'This tab is not signed in.'}</p>
        <p>
          The terminal that runs <code>chirality serve</code> shows a link that signs you in.
        </p>
      </Empty>
    </main>
  )
}
