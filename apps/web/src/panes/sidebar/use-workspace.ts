import type { CallOutputs } from '@chirality/client'
import { useQuery } from '@tanstack/react-query'
import type { Workspace } from '../../state/kept/last-choices.ts'
import { useClient } from '../../state/server/use-client.ts'
import type { SelectOption } from '../../ui/controls/Picker.tsx'
import { plural } from '../../ui/text/format.ts'

type WorktreePlan = CallOutputs['worktrees']['plan']

/** Where a new session of the project works, and what else can be chosen. Asked anew: others begin and end to work. */
export function useWorkspace(project: string, chosen: Workspace | undefined) {
  const client = useClient()
  const { data: plan } = useQuery(
    client.worktrees.plan.queryOptions({ project }, { enabled: project !== '', staleTime: 0, retry: false }),
  )
  return {
    plan,
    workspace: workspaceOf(plan, chosen),
    /** Nothing to choose where there is no git. */
    options: plan && (plan.can || plan.branches.length > 0) ? workspaceOptions(plan) : [],
    /** For a start before the answer is there. */
    settle: async () =>
      workspaceOf(plan ?? (await client.worktrees.plan.query({ project }).catch(() => undefined)), chosen),
  }
}

/** Last choice; otherwise a worktree where another session works in the folder already. */
export function workspaceOf(plan: WorktreePlan | undefined, chosen: Workspace | undefined): Workspace {
  if (!plan?.can) return 'folder'
  return chosen ?? (plan.othersAtWork > 0 ? 'worktree' : 'folder')
}

export function workspaceOptions(plan: WorktreePlan): SelectOption<Workspace>[] {
  const others = plan.othersAtWork > 0 ? ` ${plural(plan.othersAtWork, 'session')} at work here now.` : ''
  return [
    { value: 'folder', label: 'Project folder', detail: `The agent changes your files directly.${others}` },
    {
      value: 'worktree',
      label: 'Own worktree',
      detail: plan.can ? worktreeWords(plan) : plan.reason,
      disabled: !plan.can,
    },
  ]
}

/** On another machine: what is checked out there is not known here. If it has no git there, that is said at the start. */
export function workspacesOn(machine: string): SelectOption<Workspace>[] {
  return [
    {
      value: 'folder',
      label: 'Project folder',
      detail: `The agent changes the files on ${machine} directly.`,
    },
    {
      value: 'worktree',
      label: 'Own worktree',
      detail: `A folder and a branch of its own, from what is checked out on ${machine}.`,
    },
  ]
}

export function worktreeWords({
  branch,
  commit,
  uncommitted,
  hasLfsPointers,
}: Extract<WorktreePlan, { can: true }>): string {
  return [
    `A folder and a branch of its own, from ${branch ?? commit.slice(0, 8)}.`,
    uncommitted > 0
      ? `${plural(uncommitted, 'uncommitted file')} of yours ${uncommitted === 1 ? 'is' : 'are'} not in it.`
      : '',
    hasLfsPointers ? 'Files of Git LFS are pointers in it: set LFS up first.' : '',
  ]
    .filter(Boolean)
    .join(' ')
}
