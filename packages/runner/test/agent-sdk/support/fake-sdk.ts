import { mkdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'

/** A folder that holds the SDK's package with this source. */
export function fakeSdk(root: string, source: string): string {
  const folder = path.join(root, 'sdk')
  mkdirSync(folder)
  const manifest = { name: '@anthropic-ai/claude-agent-sdk', version: '0.3.999', main: 'sdk.mjs' }
  writeFileSync(path.join(folder, 'package.json'), JSON.stringify(manifest))
  writeFileSync(path.join(folder, 'sdk.mjs'), source)
  return folder
}
