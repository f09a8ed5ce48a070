// Writes docs/openapi.json: what the contract says, for tools that make clients of it. A test fails when it is stale.
import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { openApi } from './src/contract/openapi.ts'

const at = (file: string) => fileURLToPath(new URL(file, import.meta.url))
const { version } = JSON.parse(readFileSync(at('package.json'), 'utf8')) as { version: string }
const file = at('../../docs/openapi.json')
writeFileSync(file, `${JSON.stringify(openApi(version), null, 2)}\n`)
execFileSync(at('../../node_modules/.bin/biome'), ['format', '--write', file], { stdio: 'inherit' })
