import { RpcError } from '../../process/json-rpc.ts'
import { keepWords, keptWords, programFile } from '../../process/program/known-programs.ts'
import { runHelper } from '../../process/program/run-helper.ts'

/**
 * The features of one `codex` binary: from its version, and from the methods it has refused. No other module compares
 * versions, and a refused method is not called again.
 */
export class CodexFeatures {
  /** From `--version`; undefined if it prints none. */
  readonly version: string | undefined
  readonly #refused = new Set<string>()
  #silentUntil = 0

  constructor(version?: string) {
    this.version = version
  }

  /** False once the method was refused: only a call can find out. */
  mayHave(method: string): boolean {
    return !this.#refused.has(method)
  }

  /** Whether the error says that this Codex does not know the method at all. The answer is stored. */
  refuses(method: string, error: unknown): error is RpcError {
    if (!(error instanceof RpcError) || !isUnknownMethod(error, method)) return false
    this.#refused.add(method)
    return true
  }

  /** Its app-server did not answer: for a while no turn waits for it again. */
  noteSilence(): void {
    this.#silentUntil = Date.now() + SILENCE_MS
  }

  get isSilent(): boolean {
    return Date.now() < this.#silentUntil
  }
}

/** Only for a while: the machine may have been too busy. */
const SILENCE_MS = 10 * 60_000

/** Recognised by the JSON-RPC code, or by Codex's message: "unknown variant `x`, expected one of `initialize`, …". */
function isUnknownMethod({ code, message }: RpcError, method: string): boolean {
  return code === METHOD_NOT_FOUND || message.includes(`unknown variant \`${method}\``)
}

const METHOD_NOT_FOUND = -32_601

export function unknownMethod(method: string): RpcError {
  return new RpcError(`This Codex does not know ${method}.`, METHOD_NOT_FOUND)
}

/** One for each binary, until the file changes: asking for the version starts a process. */
export async function codexFeatures(
  binary: string,
  env: Record<string, string>,
  { signal, dataFolder }: { signal?: AbortSignal; dataFolder?: string } = {},
): Promise<CodexFeatures> {
  const file = await programFile(binary)
  const known = features.get(file.key)
  if (known) return known
  const kept = await keptWords(dataFolder, file)
  const said = kept?.['--version'] ?? (await runHelper(binary, ['--version'], { env, signal })).stdout.trim()
  const found = new CodexFeatures(VERSION.exec(said)?.[1])
  if (kept === undefined && found.version !== undefined)
    await keepWords(dataFolder, file, { '--version': said })
  if (!signal?.aborted) features.set(file.key, found)
  return found
}

const features = new Map<string, CodexFeatures>()

/** Includes the program's name, because every other program prints a version too. */
const VERSION = /^codex-cli (\d+\.\d+\.\d+\S*)/
