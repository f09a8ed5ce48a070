import { mkdir, stat } from 'node:fs/promises'
import path from 'node:path'
import { type ConversationFile, type ConversationPlace, HarnessError, type HarnessId } from '@chirality/core'
import { readCarefully, setAside, writeFileAtomic } from '@chirality/disk'

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
    const content = await readWhole(folder, name, MAX_BYTES - bytes)
    if (content === 'too-large') return []
    if (content === undefined) throw new Error(`${path.join(folder, name)} is gone.`)
    bytes += content.length
    files.push({ name, content })
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
  const known = await readWhole(path.dirname(file), path.basename(file), MAX_BYTES)
  if (known === 'too-large') throw new Error(`${file} has more than ${MAX_BYTES} bytes.`)
  // The same or less: this machine went on with it.
  if (known?.subarray(0, content.length).equals(content)) return
  await mkdir(path.dirname(file), { recursive: true, mode: 0o700 })
  const isOther = known !== undefined && !known.equals(content.subarray(0, known.length))
  const check = () => {
    if (isOther) setAside(file, 'before')
  }
  await writeFileAtomic(file, content, { check })
}

function isPlain(name: string): boolean {
  return name.split('/').every(part => /^[\w][\w.-]*$/.test(part))
}

/** Undefined if there is none. */
async function readWhole(
  root: string,
  name: string,
  maxBytes: number,
): Promise<Buffer | 'too-large' | undefined> {
  const read = await readCarefully({ root, path: name, links: 'inside', maxBytes })
  if (read === undefined || 'bytes' in read) return read?.bytes
  if (read.fault.kind === 'too-large') return 'too-large'
  throw new Error(read.fault.message)
}

const MAX_BYTES = 256 * 1024 * 1024
