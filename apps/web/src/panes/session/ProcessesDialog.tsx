import type { CallOutputs } from '@chirality/client'
import { formatDuration } from '@chirality/core'
import { useQuery } from '@tanstack/react-query'
import { useRef, useState } from 'react'
import type { SessionProcess } from '../../state/server/answers.ts'
import { useClient } from '../../state/server/use-client.ts'
import { Button } from '../../ui/controls/Button.tsx'
import { Dialog } from '../../ui/overlay/Dialog.tsx'
import { messageOf } from '../../ui/text/error-message.ts'
import './processes.css'

const LOOK_AGAIN_MS = 2000

interface ProcessesDialogProps {
  sessionId: string
  onClose(): void
}

/** Processes of a session: its agent, and the programs it started, which can be ended one by one. */
export default function ProcessesDialog({ sessionId, onClose }: ProcessesDialogProps) {
  const client = useClient()
  const [problem, setProblem] = useState<string | null>(null)
  const [ending, setEnding] = useState<string | null>(null)
  const { data, dataUpdatedAt, error, refetch } = useQuery(
    client.system.processes.queryOptions(
      { sessionId },
      { refetchInterval: LOOK_AGAIN_MS, gcTime: 0, retry: false, select: processesIn },
    ),
  )
  const cpuOf = useCpu(data, dataUpdatedAt)
  const end = async (one: SessionProcess) => {
    setEnding(keyOf(one))
    setProblem(null)
    try {
      const { left } = await client.system.endProcess.mutate({
        sessionId,
        pid: one.pid,
        startedAt: one.startedAt,
      })
      if (left > 0) setProblem('It did not end, not even by force.')
    } catch (cause) {
      setProblem(messageOf(cause))
    }
    await refetch()
    setEnding(null)
  }
  return (
    <Dialog title="Processes of this session" onClose={onClose}>
      <div className="session-dialog">
        {(problem ?? error) ? <p role="alert">{problem ?? messageOf(error)}</p> : null}
        {data?.length === 0 ? <p>Nothing runs for this session.</p> : null}
        <ul className="processes" aria-label="Processes">
          {data?.map(one => (
            <li key={keyOf(one)}>
              <code className="truncate" title={one.command}>
                {one.command}
              </code>
              <span className="processes__facts number">{factsOf(one, cpuOf(one))}</span>
              {one.role === 'started' ? (
                <Button
                  size="small"
                  look="danger"
                  disabled={ending !== null}
                  aria-label={`End ${one.command.slice(0, 80)}`}
                  onClick={() => void end(one)}
                >
                  {ending === keyOf(one) ? 'Ending…' : 'End'}
                </Button>
              ) : null}
            </li>
          ))}
        </ul>
        <p className="processes__note">The agent itself is ended with Stop, or by force after it.</p>
      </div>
    </Dialog>
  )
}

const ROLES: Readonly<Record<SessionProcess['role'], string>> = {
  agent: 'agent · ',
  'shared-agent': 'agent of several sessions · ',
  started: '',
}

function factsOf({ role, pid, ageMs, memoryBytes }: SessionProcess, cpu: number | null): string {
  const facts = [
    cpu === null ? null : `${Math.round(cpu)} % CPU`,
    memoryBytes === null ? null : `${Math.round(memoryBytes / 2 ** 20)} MB`,
    ageMs === null ? null : formatDuration(ageMs),
    `pid ${pid}`,
  ]
  return `${ROLES[role]}${facts.filter(fact => fact !== null).join(' · ')}`
}

function keyOf({ pid, startedAt }: SessionProcess): string {
  return `${pid} ${startedAt}`
}

/** Since the last look; at the first one, since the process began. */
function useCpu(now: SessionProcess[] | undefined, at: number): (one: SessionProcess) => number | null {
  const looks = useRef<{ at: number; cpuMs: Map<string, number | null> }[]>([])
  if (now && looks.current.at(-1)?.at !== at) {
    const cpuMs = new Map(now.map(one => [keyOf(one), one.cpuMs]))
    looks.current = [...looks.current.slice(-1), { at, cpuMs }]
  }
  const before = looks.current.length > 1 ? looks.current[0] : undefined
  return one => {
    if (one.cpuMs === null) return null
    const earlier = before?.cpuMs.get(keyOf(one))
    if (before && earlier != null) return (100 * (one.cpuMs - earlier)) / Math.max(1, at - before.at)
    return one.ageMs === null ? null : (100 * one.cpuMs) / Math.max(1, one.ageMs)
  }
}

function processesIn(groups: CallOutputs['system']['processes']): SessionProcess[] {
  return groups.flatMap(({ processes }) => processes)
}
