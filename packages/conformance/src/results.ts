import { mkdir, readdir, readFile } from 'node:fs/promises'
import path from 'node:path'
import { writeFileAtomic } from '@chirality/disk'
import { countAsTested } from '@chirality/runner'
import { BEHAVIOURS } from './behaviours.ts'
import { type ConformanceReport, type Finding, OUTCOMES, verdictOf } from './report.ts'

/** Stores a report in `conformance/` of the user's data folder: one file per agent and version, for the newest run. */
export async function storeResult(dataFolder: string, report: ConformanceReport): Promise<void> {
  const file = fileOf(dataFolder, report.harness, report.version)
  await mkdir(path.dirname(file), { recursive: true, mode: 0o700 })
  await writeFileAtomic(file, `${JSON.stringify(report, null, 2)}\n`)
  count(report)
}

/** Undefined if this version was never tried, or its result is unreadable. */
export async function readResult(
  dataFolder: string,
  harness: string,
  version: string | undefined,
): Promise<ConformanceReport | undefined> {
  return read(fileOf(dataFolder, harness, version))
}

/** Counts releases that passed every trial on this machine as tested, from now on and in this process. */
export async function countResults(dataFolder: string): Promise<void> {
  for (const report of await allResults(dataFolder)) count(report)
}

function count(report: ConformanceReport): void {
  if (report.version !== undefined && verdictOf(report) === 'works')
    countAsTested(report.harness, report.version)
}

/** The newest result of each agent over all versions. */
export async function newestResults(dataFolder: string): Promise<ConformanceReport[]> {
  const reports = await allResults(dataFolder)
  const newest = new Map<string, ConformanceReport>()
  for (const report of reports.sort((a, b) => a.at.localeCompare(b.at))) newest.set(report.harness, report)
  return [...newest.values()]
}

async function allResults(dataFolder: string): Promise<ConformanceReport[]> {
  const folder = path.join(dataFolder, FOLDER)
  const names = await readdir(folder).catch(() => [])
  const files = names.filter(name => name.endsWith('.json')).map(name => path.join(folder, name))
  return (await Promise.all(files.map(read))).filter(report => report !== undefined)
}

const FOLDER = 'conformance'

/** Replaces unusual characters: a version is the output of a program and must not name another file. */
function fileOf(dataFolder: string, harness: string, version = 'unknown'): string {
  const safe = (text: string) => text.replace(/[^A-Za-z0-9.+_-]/g, '_').slice(0, 80)
  return path.join(dataFolder, FOLDER, `${safe(harness)}@${safe(version)}.json`)
}

async function read(file: string): Promise<ConformanceReport | undefined> {
  try {
    const report: unknown = JSON.parse(await readFile(file, 'utf8'))
    return isReport(report) ? report : undefined
  } catch {
    return undefined
  }
}

/** False for files of another release of Chirality, and for edited ones. */
function isReport(value: unknown): value is ConformanceReport {
  const { harness, name, at, durationMs, findings } = (value ?? {}) as Partial<ConformanceReport>
  const texts = [harness, name, at].every(text => typeof text === 'string')
  return texts && typeof durationMs === 'number' && Array.isArray(findings) && findings.every(isFinding)
}

function isFinding(value: unknown): value is Finding {
  const { behaviour, outcome, evidence, durationMs } = (value ?? {}) as Partial<Finding>
  return (
    Object.hasOwn(BEHAVIOURS, String(behaviour)) &&
    Object.hasOwn(OUTCOMES, String(outcome)) &&
    typeof evidence === 'string' &&
    (durationMs === undefined || typeof durationMs === 'number')
  )
}
