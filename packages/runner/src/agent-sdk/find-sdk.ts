import { readFileSync } from 'node:fs'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { HarnessNotInstalledError } from '@chirality/core'
import { findPackage } from '../process/program/find-package.ts'
import { HARNESS_ID } from './config.ts'

export interface AgentSdk {
  version: string
  folder: string
  /** To import it by. */
  url: string
}

/** The installed SDK. It is an optional peer: an app that does not run this harness need not have it. */
export function findAgentSdk(sdkPath?: string): AgentSdk {
  const folder = sdkPath ?? findPackage(import.meta.url, PACKAGE)
  if (folder === undefined) throw notInstalled(`Install it with \`npm install ${PACKAGE}\`.`)
  const { version, main } = readManifest(folder)
  return { version, folder, url: pathToFileURL(path.join(folder, main)).href }
}

const PACKAGE = '@anthropic-ai/claude-agent-sdk'

function readManifest(folder: string): { version: string; main: string } {
  try {
    const manifest: unknown = JSON.parse(readFileSync(path.join(folder, 'package.json'), 'utf8'))
    const { name, version, main } = manifest as Record<string, unknown>
    if (name === PACKAGE && typeof version === 'string' && typeof main === 'string') return { version, main }
  } catch {
    // Said below: no manifest and one that is not the SDK's come to the same.
  }
  throw notInstalled(`${folder} does not hold it. Install it with \`npm install ${PACKAGE}\`.`)
}

function notInstalled(instructions: string): HarnessNotInstalledError {
  return new HarnessNotInstalledError(HARNESS_ID, instructions)
}
