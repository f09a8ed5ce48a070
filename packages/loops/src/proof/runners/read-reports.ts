import { readdir } from 'node:fs/promises'
import path from 'node:path'
import type { RunnerName } from './counted.ts'
import {
  readGoReport,
  readJestReport,
  readMochaReport,
  readNodeReport,
  readPlaywrightReport,
} from './json-reports.ts'
import { findJunitFiles, type JunitFiles } from './junit-files.ts'
import { readJunit } from './junit-report.ts'
import { readText } from './read-text.ts'
import { isRecord, parsed, type Report, text } from './report.ts'
import type { ReportFolder } from './start-reports.ts'
import { readCargo, readTap, readUnittest, readUvu } from './text-reports.ts'

export interface Found {
  reports: Report[]
  /** Runners that were started and left nothing that can be read. */
  lacking: string[]
}

interface From {
  folder: string
  reports: ReportFolder
  /** Reports that were there before the check: they say nothing of it. */
  before: JunitFiles
  output: string
  runner: string | null
}

export async function readReports({ folder, reports, before, output, runner }: From): Promise<Found> {
  const found: Report[] = []
  const lacking: string[] = []
  const files = await readdir(reports.folder)
  const started = await startedIn(reports.folder, files)
  for (const { runner: name, report: file } of started) {
    if (name === 'ava') continue
    const content = await readText(path.dirname(file), file)
    const report = PRINTS.has(name) ? undefined : readOne(name, content)
    if (report !== undefined) found.push(report)
    else if (content === '' || !PRINTS.has(name)) lacking.push(name)
  }
  const known = new Set(started.map(({ report }) => path.basename(report)))
  // Without `--test` nothing says that node:test is about to run.
  for (const file of files.filter(name => /^node-test-.*\.report$/.test(name) && !known.has(name))) {
    const report = readNodeReport(await readText(reports.folder, file))
    if (report === undefined) lacking.push('node:test')
    else found.push(report)
  }
  const printed = readPrinted(output, { started, isGo: reports.isGo, runner, hasReports: found.length > 0 })
  found.push(...printed)
  if (started.some(one => one.runner === 'ava') && !printed.some(one => one.runner === 'ava'))
    lacking.push('ava')
  for (const [file, state] of await findJunitFiles(folder)) {
    if (before.get(file) === state) continue
    const report = readJunit(await readText(folder, file), 'junit')
    if (report === undefined) lacking.push('junit')
    else found.push(report)
  }
  return { reports: found, lacking }
}

interface Started {
  runner: RunnerName
  report: string
}

async function startedIn(folder: string, files: readonly string[]): Promise<Started[]> {
  const notes = await Promise.all(
    files.filter(name => name.endsWith('.started')).map(async name => parsed(await readText(folder, name))),
  )
  return notes.flatMap(note =>
    isRecord(note) ? [{ runner: text(note.runner) as RunnerName, report: text(note.report) }] : [],
  )
}

/** Their report is what they print; their file says only that they came to their end. */
const PRINTS: ReadonlySet<string> = new Set<RunnerName>(['uvu', 'tap'])

function readOne(runner: RunnerName, content: string): Report | undefined {
  if (runner === 'vitest' || runner === 'jest') return readJestReport(content, runner)
  if (runner === 'mocha') return readMochaReport(content)
  if (runner === 'node:test') return readNodeReport(content)
  if (runner === 'playwright') return readPlaywrightReport(content)
  return readJunit(content, runner)
}

/** Reports that are part of what the check prints. */
function readPrinted(
  output: string,
  from: { started: readonly Started[]; isGo: boolean; runner: string | null; hasReports: boolean },
): Report[] {
  const avas = from.started.filter(({ runner }) => runner === 'ava').length
  // A test may print such a text: it counts only if nothing else has reported.
  const isAlone = !from.hasReports && avas === 0
  return [
    avas > 0 ? readTap(output, 'ava') : undefined,
    from.isGo ? readGoReport(output) : undefined,
    isAlone || from.runner === 'cargo test' ? readCargo(output) : undefined,
    isAlone || from.runner === 'unittest' ? readUnittest(output) : undefined,
    isAlone || from.runner === 'uvu' ? readUvu(output) : undefined,
    isAlone || from.runner === 'tap' ? readTap(output, 'tap') : undefined,
  ].filter(report => report !== undefined)
}
