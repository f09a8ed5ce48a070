import { VERDICT_WORDS } from '@chirality/core'
import { z } from 'zod'
import { type LoopSummary, loopId, newLoop, type ShownTask } from '../shapes/loops.ts'
import {
  type ProgramCall,
  type ProgramTool,
  READS,
  Refused,
  tool,
  WORKS,
  waitFor,
  waitSeconds,
} from './program-tool.ts'

const toldLoop = z.object({
  loop_id: z.string(),
  list: z.string(),
  started_at: z.string(),
  state: z.string(),
  why: z.string().optional(),
  warnings: z.array(z.string()).optional(),
  tasks_by_state: z.record(z.string(), z.number()),
  session_ids: z.array(z.string()),
  cost_usd: z.number().nullable(),
  tokens: z.unknown(),
})

/**
 * Tools for the loops of one project. None of the tools allows a command: one that the user has not
 * allowed parks its task, and the user is asked.
 */
export const LOOP_TOOLS: readonly ProgramTool[] = [
  tool({
    name: 'list_loops',
    title: 'List loops',
    hints: READS,
    output: z.object({ loops: z.array(toldLoop) }),
    description:
      'The loops of the project (task lists that agents work through) that began on this machine, newest first. Loops of other machines of a fleet are listed there.',
    input: z.strictObject({ limit: z.int().positive().max(100).default(20) }),
    run: async ({ limit }, { centre, scope }) => ({
      loops: (await centre.loops.list(scope.projectRoot)).slice(0, limit).map(told),
    }),
  }),
  tool({
    name: 'start_loop',
    title: 'Start a loop',
    hints: WORKS,
    output: z.object({ loop_id: z.string() }),
    description:
      'Starts a loop on a task list of the project, and returns its loop_id at once; await_loop waits for its end. Tasks with commands that the user has not allowed wait for the user.',
    input: z.strictObject({
      list: newLoop.shape.list.describe('The Markdown file with the tasks, in the project.'),
    }),
    run: async ({ list }, { centre, scope }) => {
      const project = scope.projectRoot
      const plan = await centre.loops.plan(project, list)
      const [problem] = plan.problems
      if (problem !== undefined) throw new Refused(problem.words)
      const refused = centre.programs.startLoop(scope)
      if (refused !== undefined) throw new Refused(refused.refused)
      // With the fingerprint it is refused if the list names other commands by now.
      const started = plan.isAllowed
        ? await centre.loops.start({ project, list, commands: plan.fingerprint })
        : await centre.loops.start({ project, list }, { allowed: [] })
      return { loop_id: started.loopId }
    },
  }),
  tool({
    name: 'await_loop',
    title: 'Wait for a loop',
    hints: READS,
    output: toldLoop,
    description:
      'Waits until a loop does not run any more, and returns its state. Call it again if the time was too short.',
    input: z.strictObject({
      loop_id: loopId,
      timeout_seconds: waitSeconds,
    }),
    run: async ({ loop_id, timeout_seconds }, call) => {
      await untilEnded(loop_id, timeout_seconds * 1000, call)
      return told(await projectLoop(loop_id, call))
    },
  }),
  tool({
    name: 'read_loop',
    title: 'Read a loop',
    hints: READS,
    output: toldLoop.extend({
      branch: z.string().nullable(),
      tasks: z.array(z.looseObject({ task: z.string(), title: z.string(), state: z.string() })),
      tasks_left_out: z.number().optional(),
    }),
    description:
      'The tasks of a loop: how far each is, what it costs, its checks, and why it waits or failed.',
    input: z.strictObject({ loop_id: loopId }),
    run: async ({ loop_id }, call) => {
      const summary = await projectLoop(loop_id, call)
      const { tasks, branch } = await call.centre.loops.get(loop_id)
      const shown = tasks.slice(0, MAX_TASKS)
      return {
        ...told(summary),
        branch,
        tasks: shown.map(toldTask),
        ...(tasks.length > shown.length ? { tasks_left_out: tasks.length - shown.length } : {}),
      }
    },
  }),
]

const MAX_TASKS = 1000

async function projectLoop(id: string, { centre, scope }: ProgramCall): Promise<LoopSummary> {
  const loop = (await centre.loops.list(scope.projectRoot)).find(one => one.loopId === id)
  if (loop === undefined) throw new Refused(`There is no loop ${id} in this project. list_loops shows them.`)
  return loop
}

async function untilEnded(id: string, withinMs: number, call: ProgramCall): Promise<void> {
  const { loops } = call.centre
  const over = new AbortController()
  // This one alone: to read all loops of the project for each entry of the journal takes the longer the more there are.
  const look = async () => {
    if ((await loops.summary(id)).runs === 'no') over.abort()
  }
  await projectLoop(id, call)
  const stop = loops.onChange(change => {
    // A loop that was removed meanwhile has ended, too.
    if (change.loopId === id) void look().catch(() => over.abort())
  })
  try {
    await look()
    await waitFor(over.signal, withinMs, { call, state: () => 'The loop runs.' })
  } finally {
    stop()
  }
}

function told({ loopId, list, runs, counts, spent, startedAt, end, working, warnings }: LoopSummary) {
  return {
    loop_id: loopId,
    list,
    started_at: startedAt,
    state: runs === 'no' ? (end?.reason ?? 'stopped') : 'running',
    ...(end === null ? {} : { why: end.why }),
    ...(warnings.length === 0 ? {} : { warnings }),
    tasks_by_state: {
      proved: counts.proved,
      proved_look_at_this: counts.look,
      changed_no_check: counts.noCheck,
      parked: counts.parked,
      failed: counts.failed,
      working: counts.working,
      ticked_by_somebody_not_proved: counts.claimed,
      to_go: counts.toGo,
    },
    session_ids: working,
    cost_usd: spent.usd,
    tokens: spent.tokens,
  }
}

function toldTask(told: ShownTask) {
  const { id, title, status, why, commands, checks, sessionId, iterations, spent, verdict, flags } = told
  return {
    task: id,
    title,
    state: status,
    session_id: sessionId,
    turns: iterations,
    ...(verdict === null ? {} : { verdict: VERDICT_WORDS[verdict] }),
    ...(flags.length === 0 ? {} : { look_at: flags.map(({ words, files }) => [words, ...files].join(' ')) }),
    ...(why === null ? {} : { why }),
    ...(commands === undefined ? {} : { waits_for_commands: commands }),
    checks: checks.map(({ command, exitCode }) => ({
      command,
      ...(exitCode === undefined ? {} : { exit_code: exitCode }),
    })),
    cost_usd: spent?.usd ?? null,
  }
}
