import { spawnSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'

export interface ExampleRun {
  code: number | null
  stdout: string
  stderr: string
}

/**
 * Runs the `ts` examples of a package's README in the package, importing it by its name. An example that no longer
 * works fails the tests.
 */
export function runReadmeExamples(packageFolder: string, env: Record<string, string> = {}): ExampleRun[] {
  const readme = readFileSync(path.join(packageFolder, 'README.md'), 'utf8')
  const blocks = [...readme.matchAll(/^```ts\n([\s\S]*?)^```/gm)].map(match => match[1] ?? '')
  return blocks.map(code => runBlock(packageFolder, code, env))
}

function runBlock(packageFolder: string, code: string, env: Record<string, string>): ExampleRun {
  const file = path.join(packageFolder, `.readme-example-${randomUUID()}.ts`)
  writeFileSync(file, code)
  try {
    const args = ['--import', 'tsx', '--conditions=@chirality/source', file]
    const child = spawnSync(process.execPath, args, {
      cwd: packageFolder,
      env: { ...process.env, ...env },
      encoding: 'utf8',
      timeout: 120_000,
      killSignal: 'SIGKILL',
    })
    return { code: child.status, stdout: child.stdout, stderr: child.stderr }
  } finally {
    rmSync(file, { force: true })
  }
}
