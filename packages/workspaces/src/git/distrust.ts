import { stat } from 'node:fs/promises'
import path from 'node:path'
import { type GitSetting, LIST_NAMES, repositoryNames, settingsAgainst } from '@chirality/runner'
import { readStateFile } from './state-file.ts'

/**
 * Settings that override dangerous ones of the repository. An agent can change its config at any time, so they are
 * determined before each command, and read again when a config file changed.
 */
export async function distrusted(
  top: string,
  ask: (args: string[]) => Promise<Buffer>,
): Promise<readonly GitSetting[]> {
  const state = await configState(top)
  const known = kept.get(top)
  if (state !== undefined && known?.state === state) return known.settings
  const listed = await ask(LIST_NAMES)
  const names = repositoryNames(listed.toString('utf8'))
  const settings = settingsAgainst(names)
  kept.delete(top)
  // Included files can depend on the branch, and on files that do not exist yet.
  const isWhole = ![...names].some(name => /^include(?:if)?\./i.test(name))
  // The config may have changed while git read it.
  if (isWhole && state !== undefined && (await configState(top)) === state) {
    for (const oldest of kept.keys()) {
      if (kept.size < MAX_KEPT) break
      kept.delete(oldest)
    }
    kept.set(top, { state, settings })
  }
  return settings
}

const kept = new Map<string, { state: string; settings: readonly GitSetting[] }>()
const MAX_KEPT = 500

/**
 * A fingerprint of the repository's config files. Undefined if it would be unreliable: a file was changed a moment ago,
 * or is not a regular file.
 */
async function configState(top: string): Promise<string | undefined> {
  try {
    const git = path.join(top, '.git')
    const named = (await stat(git)).isFile() ? await smallText(git) : undefined
    const own = named === undefined ? git : path.resolve(top, named.replace(/^gitdir: /, '').trimEnd())
    const common = await smallText(path.join(own, 'commondir'))
    const shared = common === undefined ? own : path.resolve(own, common.trimEnd())
    const files = [path.join(shared, 'config'), path.join(own, 'config.worktree'), path.join(own, 'config')]
    const states = await Promise.all([own, ...files].map((file, index) => stateOf(file, index === 0)))
    return states.includes(undefined) ? undefined : JSON.stringify([own, shared, ...states])
  } catch {
    return undefined
  }
}

async function stateOf(file: string, isFolder: boolean): Promise<string | undefined> {
  const facts = await stat(file, { bigint: true }).catch(() => null)
  if (facts === null) return 'none'
  const { dev, ino, size, mtimeNs, ctimeNs } = facts
  if (isFolder) return `${dev} ${ino}`
  // Two changes within one tick of the clock have the same time.
  const isFresh = Math.abs(Date.now() - Number(ctimeNs / 1_000_000n)) < FRESH_MS
  return facts.isFile() && !isFresh ? `${dev} ${ino} ${size} ${mtimeNs} ${ctimeNs}` : undefined
}

const FRESH_MS = 100

/** Undefined if there is no such file. */
async function smallText(file: string): Promise<string | undefined> {
  const facts = await stat(file).catch(() => undefined)
  if (facts === undefined) return undefined
  return (await readStateFile(file, MAX_TEXT_BYTES)).toString('utf8')
}

const MAX_TEXT_BYTES = 64 * 1024
