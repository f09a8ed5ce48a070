import { randomUUID } from 'node:crypto'
import { mkdir, open, readFile, rename, rm, stat } from 'node:fs/promises'
import path from 'node:path'
import { type ConversationFile, type ConversationPlace, HarnessError, type HarnessId } from '@chirality/core'
import { errnoOf } from '../common/errno.ts'

/** Where an agent keeps its conversations. */
export interface ConversationKeeper {
  harnessId: HarnessId
  /** The files of a conversation, by names relative to `folder`. */
  find(place: ConversationPlace): Promise<{ folder: string; names: string[] }>
  /** The folder that the names belong to on this machine. It is made if it is missing. */
  folder(place: ConversationPlace): Promise<string>
  /** Another machine sent the name: anything but a file of this conversation is refused. */
  isName(name: string, place: ConversationPlace): boolean
}

/** Empty if there are none, or more than can be carried. */
export async function readConversation(
  keeper: ConversationKeeper,
  place: ConversationPlace,
): Promise<ConversationFile[]> {
  const { folder, names } = await keeper.find(place)
  const files: ConversationFile[] = []
  let bytes = 0
  for (const name of names) {
    const file = path.join(folder, name)
    bytes += (await stat(file)).size
    if (bytes > MAX_BYTES) return []
    files.push({ name, content: await readFile(file) })
  }
  return files
}

export async function writeConversation(
  keeper: ConversationKeeper,
  place: ConversationPlace,
  files: readonly ConversationFile[],
): Promise<void> {
  const odd = files.find(({ name }) => !isPlain(name) || !keeper.isName(name, place))
  if (odd !== undefined) {
    const message = `${JSON.stringify(odd.name.slice(0, 200))} is not a file of this conversation.`
    throw new HarnessError(message, 'invalid_query', keeper.harnessId)
  }
  if (files.length === 0) return
  const folder = await keeper.folder(place)
  for (const { name, content } of files) {
    const file = path.join(folder, name)
    // A conversation that this one was forked from may belong to another session here.
    const isOwn = name.includes(place.nativeSessionId)
    if (isOwn || !(await stat(file).catch(() => undefined))) await writeFileWhole(file, content)
  }
}

/** Whole or not at all. What is there and goes on with the content stays; what says something else is kept under another name. */
async function writeFileWhole(file: string, content: Uint8Array): Promise<void> {
  const known = await readFile(file).catch((error: unknown) => {
    if (errnoOf(error) === 'ENOENT') return undefined
    throw error
  })
  // The same or less: this machine went on with it.
  if (known?.subarray(0, content.length).equals(content)) return
  await mkdir(path.dirname(file), { recursive: true, mode: 0o700 })
  const temporary = `${file}.${randomUUID()}.tmp`
  try {
    const handle = await open(temporary, 'wx', 0o600)
    try {
      await handle.writeFile(content)
      await handle.sync()
    } finally {
      await handle.close()
    }
    if (known !== undefined && !known.equals(content.subarray(0, known.length)))
      await rename(file, `${file}.before-${new Date().toISOString().replaceAll(/[-:.]/g, '')}`)
    await rename(temporary, file)
  } catch (error) {
    await rm(temporary, { force: true })
    throw error
  }
}

function isPlain(name: string): boolean {
  return name.split('/').every(part => /^[\w][\w.-]*$/.test(part))
}

const MAX_BYTES = 256 * 1024 * 1024
