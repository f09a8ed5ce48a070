import { execFile } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { bundleProgram } from '../fixtures/src/bundle-program.ts'

export interface ExampleRun {
  code: number | null
  stdout: string
  stderr: string
}

/**
 * Runs the `ts` examples of a package's README in the package, importing it by its name. An example that no longer
 * works fails the tests.
 */
export async function runReadmeExamples(
  packageFolder: string,
  env: Record<string, string> = {},
): Promise<ExampleRun[]> {
  const readme = readFileSync(path.join(packageFolder, 'README.md'), 'utf8')
  const blocks = [...readme.matchAll(/^```ts\n([\s\S]*?)^```/gm)].map(match => match[1] ?? '')
  const runs: ExampleRun[] = []
  for (const code of blocks) runs.push(await runBlock(packageFolder, code, env))
  return runs
}

async function runBlock(
  packageFolder: string,
  code: string,
  env: Record<string, string>,
): Promise<ExampleRun> {
  const file = path.join(packageFolder, `.readme-example-${randomUUID()}.ts`)
  writeFileSync(file, code)
  const bundle = await bundleProgram(file).finally(() => rmSync(file, { force: true }))
  const options = {
    cwd: packageFolder,
    env: { ...process.env, ...env },
    timeout: 120_000,
    killSignal: 'SIGKILL' as const,
  }
  try {
    return await new Promise(resolve => {
      execFile(process.execPath, [bundle.file], options, (error, stdout, stderr) => {
        const code = typeof error?.code === 'number' ? error.code : null
        resolve({ code: error === null ? 0 : code, stdout, stderr })
      })
    })
  } finally {
    bundle.remove()
  }
}
