import type { CallOutputs } from '@chirality/client'
import { useQuery } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useEffect, useRef, useState } from 'react'
import { flushSync } from 'react-dom'
import { storedSessions } from '../../state/fleet/stored-sessions.ts'
import { useFleetStore } from '../../state/fleet/use-fleet.ts'
import { keepChoices, lastChoices, type Workspace } from '../../state/kept/last-choices.ts'
import {
  useClient,
  useHarnesses,
  useOffered,
  usePersonas,
  useProjects,
} from '../../state/server/use-client.ts'
import { messageOf } from '../../ui/text/error-message.ts'
import { isAtDesk } from '../composer/take-focus.ts'
import { EMPTY_FORM, type NewSessionForm, offers, toOptions } from './new-session.logic.ts'
import { useWhere } from './use-where.ts'
import { useWorkspace } from './use-workspace.ts'

export type StartForm = ReturnType<typeof useNewSession>

/** The form of a new session, everything that can be chosen in it, and the start. */
export function useNewSession(project: string | undefined, onClose: () => void) {
  const client = useClient()
  const [form, setForm] = useState<NewSessionForm>({ ...EMPTY_FORM, project: project ?? '' })
  const set = (fields: Partial<NewSessionForm>) => setForm(current => ({ ...current, ...fields }))
  const [problem, setProblem] = useState<string | null>(null)
  const [busy, setBusy] = useState(false)
  const show = useShownSession(onClose)
  const projects = useProjects()
  const root = form.project || projects[0]?.root || ''
  const agent = useAgentChoice(form, root)
  const place = usePlaceChoice(root, agent.harness?.id)
  const { where } = place
  const canStart = !busy && root !== '' && agent.isChosen && place.isReady
  const create = async () => {
    if (!canStart) return
    setBusy(true)
    try {
      const options = toOptions({ ...form, harness: agent.harness?.id ?? '' }, agent.harness)
      if (where?.elsewhere) {
        const { machine, project: folder } = where.elsewhere
        const worktree = place.workspace === 'worktree' ? { worktree: {} } : {}
        const input = { project: folder, ...options, machine, ...worktree }
        return await show((await client.sessions.create.mutate(input)).id)
      }
      await client.projects.open.mutate({ project: root })
      const worktree = (await place.settle()) === 'worktree' ? { worktree: place.worktree } : {}
      await show((await client.sessions.create.mutate({ project: root, ...options, ...worktree })).id)
    } catch (error) {
      setProblem(messageOf(error))
      setBusy(false)
    }
  }
  return { form, set, projects, root, agent, place, problem, busy, canStart, create }
}

/** The chosen agent, else the first one that is ready, with what it offers for the form. */
function useAgentChoice(form: NewSessionForm, root: string) {
  const harnesses = useHarnesses()
  const { data: installed, isPending } = useQuery(useClient().harnesses.status.queryOptions())
  const personas = usePersonas(root).data ?? []
  const ready = harnesses.find(({ id }) => isReady(installed?.[id]))
  const known = harnesses.find(({ id }) => id === form.harness) ?? ready ?? harnesses[0]
  const { harness, ask } = useOffered(known, root)
  const can = offers(harness, form)
  // Until it is known which agents are installed, the first one may be one that cannot work.
  const isChosen = harness !== undefined && (form.harness !== '' || !isPending)
  const permissionMode = form.permissionMode || can.permissionModes[0]
  return { harnesses, installed, personas, harness, ask, can, isChosen, permissionMode }
}

function isReady(status: CallOutputs['harnesses']['status'][string] | undefined): boolean {
  return Boolean(status?.installed && status.authenticated)
}

/** The machine and the folder in which the agent will work. */
function usePlaceChoice(root: string, harness: string | undefined) {
  const [chosen, setWorkspace] = useState<Workspace>()
  const [base, setBase] = useState('')
  const [wanted, setWanted] = useState<string>()
  const here = useWorkspace(root, chosen ?? lastChoices(root).workspace)
  const where = useWhere(root, harness, wanted)
  const there = chosen ?? lastChoices(root).workspace ?? 'folder'
  return {
    where,
    setWanted,
    plan: here.plan,
    options: here.options,
    settle: here.settle,
    workspace: where?.elsewhere ? there : here.workspace,
    base,
    setBase,
    worktree: base ? { base } : {},
    isReady: !where?.waits && (!wanted || where !== undefined),
    choose: (next: Workspace) => {
      setWorkspace(next)
      keepChoices(root, { ...lastChoices(root), workspace: next })
    },
    /** Another project has other branches. */
    forget: () => {
      setWorkspace(undefined)
      setBase('')
    },
  }
}

/** Leads to the page of a session that was just made, unless the dialog was closed meanwhile. */
function useShownSession(onClose: () => void): (sessionId: string) => Promise<void> {
  const client = useClient()
  const navigate = useNavigate()
  const fleet = useFleetStore()
  const isGone = useRef(false)
  useEffect(() => {
    isGone.current = false
    return () => {
      isGone.current = true
    }
  }, [])
  return async sessionId => {
    await storedSessions(client).then(
      stored => fleet.setStored(stored),
      () => undefined,
    )
    if (isGone.current) return
    await navigate({ to: '/s/$sessionId', params: { sessionId } })
    if (isGone.current) return
    // The page is there before the dialog goes: keys typed next are for its field, and no shortcuts.
    flushSync(onClose)
    if (isAtDesk()) document.getElementById('composer')?.focus()
  }
}
