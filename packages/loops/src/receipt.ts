import { formatDuration, usdText, VERDICT_WORDS } from '@chirality/core'
import { z } from 'zod'
import { readLoopFile, readNamedFile } from './files.ts'
import { PROOF } from './journal-schema.ts'
import type { LoopContext } from './loop-context.ts'
import { loopError } from './loop-error.ts'
import type { LoopState, TaskState } from './loop-state.ts'
import { type Seal, sha256 } from './machine-key.ts'
import { proofLines } from './proof/proof-words.ts'
import { type Flag, verdictOf } from './proof/verdict.ts'
import { addSpent } from './spent.ts'

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
  /** Changes of agent at a limit of the plan. Their sessions are all but the last. */
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
  /** Missing in receipts of earlier versions. */
  verdict: z.string().optional(),
  proof: PROOF.optional(),
})

const SIGNED = z.looseObject({ signature: z.object({ key: z.string(), sig: z.string() }).optional() })

/** The proof of one task: its change, the commands that confirm it, and its cost. */
export type Receipt = z.infer<typeof RECEIPT>

export interface ReceiptFacts {
  loop: LoopState
  task: TaskState
  harness: string | null
  model: string | null
  nativeId: string | null
  /** Null while the task is only proved. */
  merged: string | null
}

export function makeReceipt({ loop, task, harness, model, nativeId, merged }: ReceiptFacts): Receipt {
  const { id, title, expect, persona = null } = task.task
  const { handed = [] } = task
  const spent = addSpent(task.spentBefore, task.spent)
  return {
    version: 1,
    loop: loop.loopId,
    projectRoot: loop.projectRoot,
    task: { id, title, expect },
    persona,
    harness,
    model,
    sessions: [
      ...handed.map(one => ({ id: one.sessionId, nativeId: null })),
      { id: task.sessionId, nativeId },
    ],
    handed: handed.map(({ from, to, at, why }) => ({ from, to, at, why })),
    base: task.base,
    commit: task.commit ?? task.base,
    merged,
    diff: task.diff ?? { files: 0, insertions: 0, deletions: 0 },
    setup: loop.settings.setup,
    checks: task.results.map(({ command, exitCode, ms, bytes, tail, leftBehind }) => ({
      command,
      exitCode,
      ms,
      bytes,
      tail,
      leftBehind,
    })),
    iterations: task.iterations,
    tokens: spent.tokens,
    costUsd: spent.usd,
    costIsEstimate: spent.isEstimate,
    startedAt: task.startedAt,
    endedAt: new Date().toISOString(),
    flags: task.proof?.flags ?? task.flags ?? [],
    verdict: verdictOf({ ...task, status: 'merged' })?.word,
    proof: task.proof,
  }
}

/** Signs the receipt and stores it in two forms. Returns its hash. */
export function writeReceipt(receipt: Receipt, seal: Seal, put: LoopContext['put']): string {
  const signature = { key: seal.id, sig: seal.sign('receipt', JSON.stringify(receipt)) }
  const text = `${JSON.stringify({ ...receipt, signature }, null, 2)}\n`
  put(text, 'receipts', `${receipt.task.id}.json`)
  put(receiptText(receipt), 'receipts', `${receipt.task.id}.md`)
  return sha256(text)
}

/** Reads a file that the user names; it may come with the project, and may be a FIFO or a device. */
export async function readReceipt(file: string): Promise<Receipt> {
  return (await readSignedReceipt(file)).receipt
}

export interface SignedReceipt {
  receipt: Receipt
  /** Hash of the whole file. */
  hash: string
  /** The signed text with its signature, if there is one. */
  signed?: { key: string; sig: string; text: string }
}

export async function readSignedReceipt(file: string): Promise<SignedReceipt> {
  const text = await readNamedFile(file)
  if (text === undefined) throw loopError('bad-receipt', `There is no receipt ${file}.`)
  try {
    return parseReceipt(text)
  } catch (error) {
    throw loopError(
      'bad-receipt',
      `${file} is not a receipt of a task. It ends in .json and is in receipts/ of a loop.`,
      error,
    )
  }
}

function parseReceipt(text: string): SignedReceipt {
  const { signature, ...rest } = SIGNED.parse(JSON.parse(text))
  const signed = signature === undefined ? {} : { signed: { ...signature, text: JSON.stringify(rest) } }
  return { receipt: RECEIPT.parse(rest), hash: sha256(text), ...signed }
}

/** Reads the receipt of a merged task from the user's data folder. Undefined unless the journal has its hash. */
export async function readLoopReceipt(
  folder: string,
  { task: { id }, receipt: hash }: Pick<TaskState, 'task' | 'receipt'>,
): Promise<Receipt | undefined> {
  const text = await readLoopFile(folder, 'receipts', `${id}.json`)
  if (text === undefined || sha256(text) !== hash) return undefined
  try {
    return parseReceipt(text).receipt
  } catch {
    return undefined
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
    `## ${WORDS.get(receipt.verdict ?? '') ?? 'Checks'}`,
    '',
    ...(checks.length === 0 ? ['No check: only the change itself.'] : []),
    ...proofLines(receipt.proof),
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

const WORDS = new Map<string, string>(Object.entries(VERDICT_WORDS))

export function flagLine({ words, files }: Flag | Receipt['flags'][number]): string {
  return `- ${words}${files.length === 0 ? '' : ` ${files.join(', ')}`}`
}
