import { byNewest } from '@chirality/core'
import { useQueries } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { storedSessions } from '../../state/fleet/stored-sessions.ts'
import { useFleetStore } from '../../state/fleet/use-fleet.ts'
import { lastProject } from '../../state/kept/last-choices.ts'
import type { NativeSession } from '../../state/server/answers.ts'
import { useClient, useHarnesses, useProjects } from '../../state/server/use-client.ts'
import { Button } from '../../ui/controls/Button.tsx'
import { Field } from '../../ui/controls/Field.tsx'
import { SelectField } from '../../ui/controls/SelectField.tsx'
import { Words } from '../../ui/marks/Empty.tsx'
import { Dialog } from '../../ui/overlay/Dialog.tsx'
import { messageOf } from '../../ui/text/error-message.ts'
import { formatAge } from '../../ui/text/format.ts'
import { useNow } from '../../ui/text/use-now.ts'

const SHOWN = 50

/** Conversations that were held with an agent in a terminal, to go on with here. */
export default function ImportDialog({ onClose }: { onClose(): void }) {
  const client = useClient()
  const navigate = useNavigate()
  const fleet = useFleetStore()
  const now = useNow()
  const harnesses = useHarnesses()
  const projects = useProjects()
  const [chosen, setChosen] = useState(lastProject())
  const [words, setWords] = useState('')
  const [busy, setBusy] = useState<string | null>(null)
  const [problem, setProblem] = useState<string | null>(null)
  const root = projects.find(one => one.root === chosen)?.root ?? projects[0]?.root ?? ''
  // Each agent is asked by itself: one that starts slowly or fails keeps nobody from the conversations of the others.
  const keepers = harnesses.filter(({ id, nativeSessions }) => nativeSessions === id)
  const lists = useQueries({
    queries: keepers.map(({ id }) =>
      client.sessions.native.queryOptions(
        { project: root, harness: id },
        {
          enabled: root !== '',
          gcTime: 0,
          retry: false,
          // An answer may cost the start of a program, so no agent is asked twice while the dialog is open.
          staleTime: Number.POSITIVE_INFINITY,
          refetchOnWindowFocus: false,
          refetchOnReconnect: false,
        },
      ),
    ),
  })
  const asked = root === '' ? [] : keepers.filter((_, at) => lists[at]?.isPending)
  const faults = keepers.flatMap(({ id, name }, at) => {
    const error = lists[at]?.error
    if (!error) return []
    const why = messageOf(error)
    return [{ id, why: why.includes(name) ? why : `${name}: ${why}` }]
  })
  const all = lists.flatMap(({ data }) => data?.sessions ?? [])
  const found = all
    .filter(({ title }) => title.toLowerCase().includes(words.trim().toLowerCase()))
    .sort(byNewest)
  const take = async (session: NativeSession) => {
    setBusy(session.nativeSessionId)
    setProblem(null)
    try {
      const { id } = await client.sessions.import.mutate({
        project: root,
        harness: session.harness,
        nativeSessionId: session.nativeSessionId,
      })
      fleet.setStored(await storedSessions(client))
      onClose()
      await navigate({ to: '/s/$sessionId', params: { sessionId: id } })
    } catch (cause) {
      setProblem(messageOf(cause))
      setBusy(null)
    }
  }
  const nameOf = (id: string) => harnesses.find(harness => harness.id === id)?.name ?? id
  return (
    <Dialog title="Import a conversation" onClose={onClose}>
      <div className="import">
        <SelectField
          first
          label="Project"
          value={root}
          onChange={setChosen}
          options={projects.map(one => ({
            ...{ value: one.root, label: one.name, detail: one.root, disabled: one.missing },
          }))}
        />
        <Field label="Find">
          {id => (
            <input
              id={id}
              className="input"
              type="search"
              value={words}
              onChange={event => setWords(event.target.value)}
            />
          )}
        </Field>
        {problem ? <p role="alert">{problem}</p> : null}
        <p className="import__count" role="status">
          {asked.length > 0
            ? `${found.length} so far. Asking ${asked.map(({ name }) => name).join(', ')}…`
            : all.length > 0 && found.length === 0
              ? 'None has these words in its title.'
              : countWords(found.length, faults.length > 0)}
        </p>
        {faults.map(({ id, why }) => (
          <p key={id} className="import__fault" role="status">
            <Words text={why} />
          </p>
        ))}
        <ul className="import__list" aria-label="Conversations">
          {found.slice(0, SHOWN).map(session => (
            <li key={`${session.harness} ${session.nativeSessionId}`}>
              <span className="truncate">{session.title || 'Untitled'}</span>
              <span className="import__facts">
                {[nameOf(session.harness), session.updatedAt && formatAge(session.updatedAt, now)]
                  .filter(Boolean)
                  .join(' · ')}
              </span>
              <Button
                size="small"
                disabled={busy !== null}
                aria-label={`Import ${session.title || 'Untitled'}`}
                onClick={() => void take(session)}
              >
                {busy === session.nativeSessionId ? 'Importing…' : 'Import'}
              </Button>
            </li>
          ))}
        </ul>
      </div>
    </Dialog>
  )
}

function countWords(count: number, someFailed: boolean): string {
  if (count === 0)
    return someFailed
      ? 'No other agent keeps a conversation of this folder.'
      : 'No agent keeps a conversation of this folder.'
  return count > SHOWN
    ? `The ${SHOWN} newest of ${count}.`
    : `${count} ${count === 1 ? 'conversation' : 'conversations'} held outside.`
}
