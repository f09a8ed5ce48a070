import { readFileSync } from 'node:fs'
import path from 'node:path'
import { KeptNumbers, ProjectRegistry } from '@chirality/centre'
import type { PermissionRequestEvent } from '@chirality/core'
import { ScheduleBook } from '@chirality/loops'
import { addConfiguredAgent, readConfiguredAgents } from '@chirality/runner'
import {
  BudgetBook,
  claudeSessionFile,
  noteClaudeSession,
  PolicyBook,
  ToolServerBook,
  TrustStore,
} from '@chirality/sessions'
import { SignedInBrowsers } from '../../src/browsers/signed-in-browsers.ts'
import { Keys } from '../../src/guard/keys.ts'

export interface SharedPlace {
  /** The user's data folder. */
  home: string
  project: string
}

interface SharedFile {
  /** One change, which nobody else makes. */
  change(place: SharedPlace, who: string): Promise<unknown>
  /** Whose changes are kept. */
  kept(place: SharedPlace): Promise<readonly string[]> | readonly string[]
}

export const WRITERS = ['four', 'one', 'three', 'two'] as const

/** Every file of a user, or of a project, that several processes change. */
export const SHARED_FILES: Record<string, SharedFile> = {
  'own agents': {
    change: ({ home }, who) =>
      addConfiguredAgent(home, { name: who, title: who, command: '/bin/true', args: [], env: [] }),
    kept: async ({ home }) => (await readConfiguredAgents(home)).agents.map(({ name }) => name),
  },
  'policy rules': {
    change: ({ home, project }, who) =>
      new PolicyBook({ home }).allowAlways(
        { sessionId: who, projectRoot: project, persona: null, harness: 'claude-code' },
        askedFor(who),
      ),
    kept: ({ home, project }) =>
      readFileSync(new PolicyBook({ home }).places(project).project, 'utf8')
        .split('\n')
        .flatMap(line => /^allow Bash\(echo (\w+)\)$/.exec(line)?.[1] ?? []),
  },
  budgets: {
    change: ({ home, project }, who) =>
      new BudgetBook({ home }).count(project, who, { usd: 1, tokens: 1, unpricedTokens: 0, ms: 0 }),
    kept: async ({ home, project }) => {
      const { state } = await new BudgetBook({ home }).read(project)
      return state.total_cost_usd === state.iterations ? (state.counted_turns ?? []) : []
    },
  },
  trust: {
    change: ({ home, project }, who) => new TrustStore({ home }).trust(project, 'agent-files', who),
    kept: ({ home, project }) =>
      WRITERS.filter(who => new TrustStore({ home }).isTrusted(project, 'agent-files', who)),
  },
  'tool servers': {
    change: ({ home, project }, who) =>
      new ToolServerBook({ home }).set(project, { kind: 'user-global' }, who, () => ({
        type: 'stdio',
        command: '/bin/true',
      })),
    kept: ({ home, project }) => Object.keys(new ToolServerBook({ home }).forTurn(project, null)),
  },
  'read marks': {
    change: ({ home }, who) => new KeptNumbers(home, 'read-marks.json').set(who, 1),
    kept: async ({ home }) => Object.keys(await new KeptNumbers(home, 'read-marks.json').all()),
  },
  projects: {
    change: ({ home, project }, who) => new ProjectRegistry(home).add(path.join(project, who)),
    kept: async ({ home }) => (await new ProjectRegistry(home).list()).map(({ name }) => name),
  },
  'known browsers': {
    change: ({ home }, who) =>
      browsersOf(home).add({ origin: `http://${who}.test`, userAgent: undefined, address: null }, who),
    kept: async ({ home }) =>
      (await browsersOf(home).list()).flatMap(
        ({ origin }) => /^http:\/\/(\w+)\.test$/.exec(origin)?.[1] ?? [],
      ),
  },
  schedules: {
    change: async ({ home, project }, who) =>
      new ScheduleBook(home).add({
        name: who,
        project,
        what: { kind: 'prompt', prompt: 'Look at the logs.' },
        when: { kind: 'every', minutes: 60 },
      }),
    kept: ({ home }) => new ScheduleBook(home).list().map(({ schedule }) => schedule.name),
  },
  'sessions of roles': {
    change: ({ project }, who) => noteClaudeSession(project, who, `session-${who}`),
    kept: async ({ project }) =>
      Object.keys(await claudeSessionFile.read(project)).flatMap(
        key => /^(\w+)_session_id$/.exec(key)?.[1] ?? [],
      ),
  },
}

function askedFor(who: string): PermissionRequestEvent {
  return {
    type: 'permission:request',
    sessionId: who,
    requestId: who,
    kind: 'tool',
    toolName: 'Bash',
    input: { command: `echo ${who}` },
  }
}

function browsersOf(home: string): SignedInBrowsers {
  return new SignedInBrowsers(home, new Keys())
}
