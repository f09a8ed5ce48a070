import { readdir, stat } from 'node:fs/promises'
import path from 'node:path'
import { isNativeId, realPathOf } from '../../native-sessions/listing.ts'

export interface SessionFile {
  nativeSessionId: string
  path: string
  modifiedMs: number
  sizeBytes: number
}

/** The agent's folder of conversations; it has one folder for each working folder. */
export function projectsFolder(environment: Record<string, string>): string {
  const config = environment.CLAUDE_CONFIG_DIR || path.join(environment.HOME ?? '', '.claude')
  return path.join(config, 'projects')
}

/** Newest first. Empty if there are no files, or none that can be read. */
export async function sessionFiles(
  environment: Record<string, string>,
  cwd: string | undefined,
): Promise<SessionFile[]> {
  const projects = projectsFolder(environment)
  // The agent resolves links before it derives the folder's name.
  const folders = cwd === undefined ? await entries(projects) : [projectFolderName(await realPathOf(cwd))]
  const files = await Promise.all(folders.map(folder => filesOf(path.join(projects, folder))))
  return files.flat().sort((a, b) => b.modifiedMs - a.modifiedMs)
}

export async function findSessionFile(
  nativeSessionId: string,
  environment: Record<string, string>,
  cwd: string | undefined,
): Promise<SessionFile | undefined> {
  const isIt = (file: SessionFile) => file.nativeSessionId === nativeSessionId
  const near = cwd === undefined ? [] : await sessionFiles(environment, cwd)
  return near.find(isIt) ?? (await sessionFiles(environment, undefined)).find(isIt)
}

/** `/a/b` and `/a-b` get the same name, so the files' contents have to be checked too. */
export function projectFolderName(cwd: string): string {
  const name = cwd.replace(/[^a-zA-Z0-9]/g, '-')
  if (name.length <= MAX_NAME_CHARS) return name
  return `${name.slice(0, MAX_NAME_CHARS)}-${hash(cwd).toString(36)}`
}

const MAX_NAME_CHARS = 200
const EXTENSION = '.jsonl'

function hash(text: string): number {
  let value = 0
  for (let i = 0; i < text.length; i++) value = (Math.imul(value, 31) + text.charCodeAt(i)) | 0
  return Math.abs(value)
}

async function filesOf(folder: string): Promise<SessionFile[]> {
  const names = (await entries(folder)).filter(name => name.endsWith(EXTENSION))
  const files = names.map(async name => {
    const nativeSessionId = name.slice(0, -EXTENSION.length)
    const file = path.join(folder, name)
    const info = isNativeId(nativeSessionId) ? await stat(file).catch(() => null) : null
    // Opening a FIFO of that name would block forever.
    if (!info?.isFile()) return []
    return [{ nativeSessionId, path: file, modifiedMs: info.mtimeMs, sizeBytes: info.size }]
  })
  return (await Promise.all(files)).flat()
}

async function entries(folder: string): Promise<string[]> {
  return readdir(folder).catch(() => [])
}
