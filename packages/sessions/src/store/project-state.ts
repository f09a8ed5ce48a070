import { defineStateFile } from './state-file.ts'

/** `state/claude-session.json`: the native session that each kind of work used last, and when. */
export interface ClaudeSessionState {
  [role: `${string}_session_id`]: string | null
  updated_at: string | null
}

export const claudeSessionFile = defineStateFile<ClaudeSessionState>({
  name: 'claude-session.json',
  initial: () => ({ updated_at: null }),
  parse: ({ updated_at, ...others }) => {
    if (typeof updated_at !== 'string' && updated_at !== null) return undefined
    const roles = Object.entries(others).filter(
      ([name, value]) => name.endsWith('_session_id') && (typeof value === 'string' || value === null),
    )
    return { ...Object.fromEntries(roles), updated_at }
  },
})

/** Notes which native session a role used: `planner`, `coder` … */
export function noteClaudeSession(projectRoot: string, role: string, nativeSessionId: string | null) {
  return claudeSessionFile.update(projectRoot, state => ({
    ...state,
    [`${role}_session_id`]: nativeSessionId,
    updated_at: new Date().toISOString(),
  }))
}
