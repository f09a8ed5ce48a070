import type { PersonaManager } from '@chirality/personas'
import type { PolicyBook } from '@chirality/sessions'
import type { Output } from '../../output.ts'

export interface PolicyRequest {
  project: string
  /** A file in the place of the user's policy for the project. */
  draft: string | undefined
  policies: PolicyBook
  personas: PersonaManager
  json: boolean
  output: Output
}
