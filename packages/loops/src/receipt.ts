import { randomUUID } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { formatDuration, usdText, visibleLine } from '@chirality/core'
import { z } from 'zod'
import { type CheckResult, hasPassed, runCheck } from './checks.ts'
import { readIfThere, replaceFile } from './files.ts'
import type { Flag } from './journal.ts'
import { loopError } from './loop-error.ts'
import type { LoopState, TaskState } from './loop-state.ts'
import { notAllowedWords } from './not-allowed-words.ts'
import { readOwnLoop } from './own-loop.ts'
import { addSpent } from './spent.ts'
import { TaskTree } from './task-tree.ts'

const COMMIT = z.string().regex(/^[0-9a-f]{40,64}$/)
const RECEIPT = z.object({
  version: z.literal(1),
  loop: z.string(),
  projectRoot: z.string(),
  task: z.object({
    id: z.string().regex(/^[a-z0-9][a-z0-9-]{0,79}$/),
    title: z.string(),
    expect: z.enum(['diff', 'none']),
  }),
  persona: z.string().nullable(),
  harness: z.string().nullable(),
  model: z.string().nullable(),
  sessions: z.array(z.object({ id: z.string(), nativeId: z.string().nullable() })),
  /** From one agent to the next, at a limit of its plan. Their sessions are those before the last. */
  handed: z
    .array(z.object({ from: z.string(), to: z.string(), at: z.string(), why: z.string() }))
    .default([]),
  base: COMMIT,
  commit: COMMIT,
  merged: COMMIT.nullable(),
  diff: z.object({ files: z.int(), insertions: z.int(), deletions: z.int() }),
  setup: z.array(z.string()),
  checks: z.array(
    z.object({
      command: z.string(),
      exitCode: z.int().nullable(),
      ms: z.number(),
      bytes: z.number(),
      tail: z.string(),
      leftBehind: z.int().default(0),
    }),
  ),
  iterations: z.int(),
  tokens: z.int(),
  costUsd: z.number().nullable(),
  costIsEstimate: z.boolean(),
  startedAt: z.string(),
  endedAt: z.string(),
  flags: z.array(z.object({ kind: z.string(), words: z.string(), files: z.array(z.string()) })),
})

/** The proof of one task: what was changed, which commands said that it works, and what it cost. */
export type Receipt = z.infer<typeof RECEIPT>

export interface ReceiptFacts {
  loop: LoopState
  task: TaskState
  harness: string | null
  model: string | null
  nativeId: string | null
  /** Null while it is only proved. */
  merged: string | null
}

export function makeReceipt({ loop, task, harness, model, nativeId, merged }: ReceiptFacts): Receipt {
  const { id, title, expect, persona = null } = task.task
  const { handed = [] } = task
  const spent = addSpent(task.spentBefore, task.spent)
  return {
    ...{ version: 1, loop: loop.loopId, projectRoot: loop.projectRoot, task: { id, title, expect } },
    ...{ persona, harness, model },
    sessions: [
      ...handed.map(one => ({ id: one.sessionId, nativeId: null })),
      { id: task.sessionId, nativeId },
    ],
    handed: handed.map(({ from, to, at, why }) => ({ from, to, at, why })),
    ...{ base: task.base, commit: task.commit ?? task.base, merged },
    ...{ diff: task.diff ?? { files: 0, insertions: 0, deletions: 0 }, setup: loop.settings.setup },
    checks: task.results.map(({ command, exitCode, ms, bytes, tail, leftBehind }) => ({
      ...{ command, exitCode, ms, bytes, tail, leftBehind },
    })),
    ...{ iterations: task.iterations, tokens: spent.tokens, costUsd: spent.usd },
    ...{ costIsEstimate: spent.isEstimate, startedAt: task.startedAt },
    ...{ endedAt: new Date().toISOString(), flags: task.flags ?? [] },
  }
}

export function writeReceipt(folder: string, receipt: Receipt): void {
  replaceFile(path.join(folder, `${receipt.task.id}.json`), `${JSON.stringify(receipt, null, 2)}\n`)
  replaceFile(path.join(folder, `${receipt.task.id}.md`), receiptText(receipt))
}

export function readReceipt(file: string): Receipt {
  const text = readIfThere(file)
  if (text === undefined) throw loopError('bad-receipt', `There is no receipt ${file}.`)
  try {
    return RECEIPT.parse(JSON.parse(text))
  } catch (error) {
    throw loopError(
      'bad-receipt',
      `${file} is not a receipt of a task. It ends in .json and is in receipts/ of a loop.`,
      error,
    )
  }
}

export function receiptText(receipt: Receipt): string {
  const { task, diff, checks, flags, costUsd, tokens } = receipt
  const took = Date.parse(receipt.endedAt) - Date.parse(receipt.startedAt)
  const cost = costUsd === null ? 'cost unknown' : `${receipt.costIsEstimate ? '≈ ' : ''}${usdText(costUsd)}`
  return [
    `# ${task.title}`,
    '',
    `- Changed: ${diff.files} files, +${diff.insertions} −${diff.deletions}`,
    `- Commit: ${receipt.commit}${receipt.merged === null ? ', not merged' : `, merged as ${receipt.merged}`}`,
    `- Base: ${receipt.base}`,
    `- Agent: ${receipt.harness ?? 'default'}${receipt.model === null ? '' : `, ${receipt.model}`}${receipt.persona === null ? '' : `, ${receipt.persona}`}`,
    ...receipt.handed.map(({ from, to, why }) => `- Handed from ${from} to ${to}: ${why}`),
    `- Session: ${receipt.sessions.map(({ id }) => id).join(', ')}`,
    `- Work: ${receipt.iterations} iterations, ${formatDuration(took)}, ${tokens} tokens, ${cost}`,
    '',
    ...(flags.length === 0 ? [] : ['## Look at this', '', ...flags.map(flagLine), '']),
    '## Proved by',
    '',
    ...(checks.length === 0 ? ['No check: only the change itself.'] : []),
    ...checks.flatMap(({ command, exitCode, ms, tail }) => [
      `- \`${command}\`: exit code ${exitCode ?? 'none'}, ${formatDuration(ms)}`,
      ...(tail.trim() === ''
        ? []
        : [
            '',
            ...tail
              .trimEnd()
              .split('\n')
              .map(line => `      ${line}`),
            '',
          ]),
    ]),
    '',
  ].join('\n')
}

export function flagLine({ words, files }: Flag | Receipt['flags'][number]): string {
  return `- ${words}${files.length === 0 ? '' : ` ${files.join(', ')}`}`
}

export interface Verification {
  receipt: Receipt
  /** What does not hold; empty if all of it does. */
  problems: string[]
  results: CheckResult[]
}

interface VerifyOptions {
  projectRoot: string
  /** The user's data folder: it has the commands that were allowed for the loop. */
  home: string
  /** Commands that may run besides those, word for word. */
  allow?: readonly string[]
  timeoutMs?: number
  signal?: AbortSignal
}

/**
 * Runs the checks of a receipt again, on its commit, in a worktree that is removed afterwards. A receipt lies in the
 * project, where a clone brings files and an agent with a shell writes: it allows no command.
 */
export async function verifyReceipt(
  file: string,
  { projectRoot, home, allow = [], timeoutMs = 600_000, signal }: VerifyOptions,
): Promise<Verification> {
  const receipt = readReceipt(file)
  const commands = [...receipt.setup, ...receipt.checks.map(({ command }) => command)]
  requireAllowed({ ...receipt, commands }, { file, projectRoot, home, allow })
  const repository = await TaskTree.open(projectRoot)
  for (const commit of [receipt.base, receipt.commit])
    if (!(await repository.hasCommit(commit)))
      return { receipt, problems: [`The commit ${commit} is not in ${projectRoot}.`], results: [] }
  const problems: string[] = []
  const { files, insertions, deletions } = await repository.diffStat(receipt.base, receipt.commit)
  const { diff } = receipt
  if (files !== diff.files || insertions !== diff.insertions || deletions !== diff.deletions)
    problems.push(`The change is +${insertions} −${deletions} in ${files} files, not what the receipt says.`)
  if (files > 0 !== (receipt.task.expect === 'diff'))
    problems.push(files > 0 ? 'Files were changed, and none was to be.' : 'No file was changed.')
  const parent = await mkdtemp(path.join(tmpdir(), 'chirality-verify-'))
  const folder = path.join(parent, 'work')
  const results: CheckResult[] = []
  try {
    await repository.checkOut(folder, receipt.commit)
    const marker = randomUUID()
    for (const command of commands) {
      const result = await runCheck(command, {
        cwd: folder,
        timeoutMs,
        marker,
        ...(signal ? { signal } : {}),
      })
      results.push(result)
      if (!hasPassed(result))
        problems.push(`\`${command}\` ${result.stopped ?? `exits with ${result.exitCode}`}.`)
    }
  } finally {
    await repository.removeCheckOut(folder)
    await rm(parent, { recursive: true, force: true })
  }
  return { receipt, problems, results }
}

function requireAllowed(
  { loop, commands }: Pick<Receipt, 'loop'> & { commands: string[] },
  {
    file,
    projectRoot,
    home,
    allow,
  }: { file: string; projectRoot: string; home: string; allow: readonly string[] },
): void {
  const other = allow.find(command => !commands.includes(command))
  if (other !== undefined)
    throw loopError('loop-refused', `The receipt ${file} has no command \`${visibleLine(other)}\`.`)
  const own = readOwnLoop(home, loop)
  const allowed = new Set([...(own?.project === projectRoot ? own.allowed : []), ...allow])
  const refused = [...new Set(commands)].filter(command => !allowed.has(command))
  if (refused.length === 0) return
  throw loopError(
    'loop-refused',
    `Nothing was run. ${notAllowedWords(refused)}\nThe receipt lies in the project, where an agent or a clone can write it. Allow exactly a command that you know: chirality loop verify ${file} --allow '…' (may be repeated)`,
  )
}
