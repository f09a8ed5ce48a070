import { readdir, stat } from 'node:fs/promises'
import path from 'node:path'

/** The reports of maven and gradle below a folder, each with what changes when it is written again. */
export type JunitFiles = ReadonlyMap<string, string>

/** Looked for only where a build file says that there may be some. */
export async function findJunitFiles(folder: string): Promise<JunitFiles> {
  const files = new Map<string, string>()
  const names = await readdir(folder).catch(() => [])
  if (!names.some(name => BUILD_FILES.test(name))) return files
  const walk = async (at: string, depth: number, isReports: boolean) => {
    const entries = await readdir(at, { withFileTypes: true }).catch(() => [])
    for (const entry of entries) {
      const name = path.join(at, entry.name)
      if (entry.isDirectory() && depth < MAX_DEPTH && !/^(node_modules|\.git|src)$/.test(entry.name))
        await walk(name, depth + 1, isReports || REPORT_FOLDERS.test(entry.name))
      if (!isReports || !entry.isFile() || !/^TEST-.*\.xml$/.test(entry.name)) continue
      const { mtimeMs, size, ino } = await stat(name)
      files.set(name, `${mtimeMs} ${size} ${ino}`)
    }
  }
  await walk(folder, 0, false)
  return files
}

const BUILD_FILES = /^(pom\.xml|build\.gradle(\.kts)?|build\.sbt)$/
const REPORT_FOLDERS = /^(surefire-reports|failsafe-reports|test-results|test-reports)$/
const MAX_DEPTH = 6
