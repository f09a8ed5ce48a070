import type { CallOutputs } from '@chirality/client'
import { useNavigate, useParams } from '@tanstack/react-router'
import { storedSessions } from '../../state/fleet/stored-sessions.ts'
import { useFleetStore } from '../../state/fleet/use-fleet.ts'
import type { SessionStatus } from '../../state/server/answers.ts'
import { useClient, useDownload } from '../../state/server/use-client.ts'
import { toasts } from '../../ui/overlay/toast-store.ts'
import { messageOf } from '../../ui/text/error-message.ts'
import { plural } from '../../ui/text/format.ts'
import { sessionTitle } from '../../words/session-title.ts'

type SeveralDone = Pick<CallOutputs['sessions']['discard'], 'done' | 'failed'>

export type ExportFormat = 'markdown' | 'html' | 'json'

/** Actions on one session of a list, or on several at once. */
export function useListActions() {
  const client = useClient()
  const download = useDownload()
  const fleet = useFleetStore()
  const navigate = useNavigate()
  const { sessionId: open } = useParams({ strict: false })
  const failed = (error: unknown) => toasts.error(messageOf(error))
  const nameOf = (ids: readonly string[]) => {
    const only = ids.length === 1 ? fleet.get(ids[0] ?? '') : undefined
    return only ? `"${sessionTitle(only)}"` : plural(ids.length, 'session')
  }
  /** Tells which sessions failed and why; returns the others, which can be taken back. */
  const doneOf = ({ done, failed: faults }: SeveralDone, verb: string) => {
    for (const { sessionIds, message } of faults)
      toasts.error(`${plural(sessionIds.length, 'session')} not ${verb}. ${message}`)
    return done
  }
  const setShelf = async (ids: readonly string[], shelf: SessionStatus['shelf']) => {
    const done = doneOf(
      await client.sessions.shelve.mutate({ sessionIds: [...ids], shelf: shelf }),
      SHELVED[shelf ?? 'listed'],
    )
    // As they are by now: they went on meanwhile.
    fleet.update(done.flatMap(id => fleet.get(id) ?? []).map(status => ({ ...status, shelf })))
    return done
  }
  const restore = async (ids: readonly string[]) => {
    doneOf(await client.sessions.restore.mutate({ sessionIds: [...ids] }), 'restored')
    fleet.setStored(await storedSessions(client))
  }
  return {
    shelve: (ids: readonly string[], shelf: SessionStatus['shelf']) => {
      const before = new Map(ids.map(id => [id, fleet.get(id)?.shelf ?? null]))
      setShelf(ids, shelf).then(done => {
        if (shelf !== 'archived') return
        const undo = () =>
          void Promise.all(done.map(id => setShelf([id], before.get(id) ?? null))).catch(failed)
        toasts.info(`Archived ${nameOf(done)}.`, { label: 'Undo', run: undo })
      }, failed)
    },
    discard: (ids: readonly string[]) => {
      // The server tells of their removal before it answers.
      const names = new Map(ids.map(id => [id, nameOf([id])]))
      const inWorktree = new Set(ids.filter(id => fleet.get(id)?.worktree))
      client.sessions.discard.mutate({ sessionIds: [...ids] }).then(outcome => {
        const done = doneOf(outcome, 'deleted')
        for (const id of done) fleet.remove(id)
        if (open !== undefined && done.includes(open)) void navigate({ to: '/' })
        const name = done.length === 1 ? names.get(done[0] ?? '') : nameOf(done)
        const kept = done.some(id => inWorktree.has(id)) ? ' The work in its worktree is kept.' : ''
        toasts.info(`Deleted ${name}.${kept}`, { label: 'Undo', run: () => void restore(done).catch(failed) })
      }, failed)
    },
    rename: (id: string, title: string) => {
      client.sessions.rename.mutate({ sessionId: id, title }).then(() => {
        const now = fleet.get(id)
        if (now) fleet.update([{ ...now, title }])
      }, failed)
    },
    exportAs: async (ids: readonly string[], format: ExportFormat) => {
      for (const id of ids) {
        const name = fleet.get(id)
        try {
          const path = `/api/harness/session/${encodeURIComponent(id)}/export?format=${format}`
          save(await download(path), fileName(name ? sessionTitle(name) : id, format))
        } catch (error) {
          failed(error)
        }
      }
    },
  }
}

/** In "3 sessions not …". */
const SHELVED = { pinned: 'pinned', archived: 'archived', listed: 'put back' } as const

const ENDINGS: Readonly<Record<ExportFormat, string>> = { markdown: 'md', html: 'html', json: 'ndjson' }

/** Letters and digits of the title: a name that every system takes. */
export function fileName(title: string, format: ExportFormat): string {
  const words = title.normalize('NFKD').match(/[\p{L}\p{N}]+/gu) ?? []
  return `${words.join('-').slice(0, 60) || 'session'}.${ENDINGS[format]}`
}

function save(blob: Blob, name: string): void {
  const link = document.createElement('a')
  link.href = URL.createObjectURL(blob)
  link.download = name
  link.click()
  // The download reads from it after the click.
  setTimeout(() => URL.revokeObjectURL(link.href), KEPT_MS)
}

const KEPT_MS = 60_000
