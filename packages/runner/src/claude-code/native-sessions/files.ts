import { readdir, stat } from 'node:fs/promises'
import path from 'node:path'
import { isNativeId, realPath } from '../../native-sessions/listing.ts'

export interface SessionFile {
  nativeSessionId: string
  path: string
  modifiedMs: number
  sizeBytes: number
}

/** The agent's folder of conversations, one folder in it for each place it was started in. */
export function projectsFolder(environment: Record<string, string>): string {
  const config = environment.CLAUDE_CONFIG_DIR || path.join(environment.HOME ?? '', '.claude')
  return path.join(config, 'projects')
}

/** Newest first. Empty when there is none, or none that may be read. */
export async function sessionFiles(
  environment: Record<string, string>,
  cwd: string | undefined,
): Promise<SessionFile[]> {
  const projects = projectsFolder(environment)
  // The agent resolves links before it names the folder.
  const folders = cwd === undefined ? await entries(projects) : [projectFolderName(await realPath(cwd))]
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

/** The same name for `/a/b` and `/a-b`: what is in the files has to be looked at, too. */
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
    // A pipe of that name would be waited for without end.
    if (!info?.isFile()) return []
    return [{ nativeSessionId, path: file, modifiedMs: info.mtimeMs, sizeBytes: info.size }]
  })
  return (await Promise.all(files)).flat()
}

async function entries(folder: string): Promise<string[]> {
  return readdir(folder).catch(() => [])
}
