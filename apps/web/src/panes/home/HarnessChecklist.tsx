import { type HarnessInstallStatus, versionNote } from '@chirality/core'
import { useQuery } from '@tanstack/react-query'
import type { HarnessInfo } from '../../state/server/answers.ts'
import { useClient } from '../../state/server/use-client.ts'
import { Button } from '../../ui/controls/Button.tsx'
import { CopyButton } from '../../ui/controls/CopyButton.tsx'
import { Dot, type DotTone } from '../../ui/marks/Dot.tsx'
import { Words } from '../../ui/marks/Empty.tsx'
import { installHelp } from './install-help.ts'

/** Installed agents and logins, with the exact command for each that is missing. */
export function HarnessChecklist({ harnesses }: { harnesses: readonly HarnessInfo[] }) {
  const client = useClient()
  const { data, refetch, isFetching } = useQuery(client.harnesses.status.queryOptions())
  return (
    <section className="checklist" aria-label="Agents">
      <header className="checklist__head">
        <h2>Agents on this machine</h2>
        <Button look="quiet" size="small" disabled={isFetching} onClick={() => void refetch()}>
          Check again
        </Button>
      </header>
      <ul>
        {harnesses.map(harness => (
          <ChecklistRow key={harness.id} harness={harness} status={data?.[harness.id]} />
        ))}
      </ul>
    </section>
  )
}

function ChecklistRow({
  harness,
  status,
}: {
  harness: HarnessInfo
  status: HarnessInstallStatus | undefined
}) {
  const { tone, words, note } = describe(harness, status)
  const help = status ? installHelp(harness, status) : undefined
  return (
    <li className="checklist__row">
      <Dot tone={tone} />
      <span className="checklist__name">{harness.name}</span>
      <span className="checklist__words">
        {words}
        {note ? <span className="checklist__note">{note}</span> : null}
      </span>
      {help?.command ? (
        <span className="checklist__command">
          <code>{help.command}</code>
          <CopyButton text={help.command} label="Copy the command" />
        </span>
      ) : null}
      {help?.text ? (
        <span className="checklist__text">
          <Words text={help.text} />
        </span>
      ) : null}
    </li>
  )
}

function describe(
  { versions }: HarnessInfo,
  status: HarnessInstallStatus | undefined,
): { tone: DotTone; words: string; note?: string } {
  if (!status) return { tone: 'quiet', words: 'checking' }
  if (!status.installed) return { tone: 'quiet', words: 'not installed' }
  const version = status.version ? ` ${status.version}` : ''
  const note = status.support === 'tested' ? 'tested' : versions && versionNote(status.support, versions)
  if (status.support === 'too-old') return { tone: 'bad', words: `installed${version}`, note }
  if (!status.authenticated) return { tone: 'quiet', words: `installed${version}, not logged in`, note }
  return { tone: 'ok', words: `ready${version}`, note }
}
