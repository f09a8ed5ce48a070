import type { ProjectTrustState } from '@chirality/sessions'
import type { z } from 'zod'
import { mutation, query } from '../call.ts'
import { shownTrust } from '../shapes/sessions.ts'
import { byProject, trustInput } from '../shapes/values.ts'

export const trustCalls = {
  get: query({
    about: 'Shows the files of a project that its agents would run, and whether the user agreed to them.',
    input: byProject,
    output: shownTrust,
    run: async ({ host, projects }, input) =>
      shown(await host.trust.state(await projects.require(input.project))),
  }),

  allow: mutation({
    about: 'Lets agents use exactly the files that were shown, until one of them changes.',
    input: trustInput,
    output: shownTrust,
    run: async ({ host, projects }, input) => {
      const root = await projects.require(input.project)
      return shown(await host.trust.allow(root, input.fingerprint))
    },
  }),

  revoke: mutation({
    about: 'Takes the agreement to the files of a project back.',
    input: byProject,
    output: shownTrust,
    run: async ({ host, projects }, input) =>
      shown(await host.trust.revoke(await projects.require(input.project))),
  }),
}

function shown({ files, ...state }: ProjectTrustState): z.infer<typeof shownTrust> {
  const texts = files.map(({ path, content }) => ({
    path,
    bytes: content.length,
    text: new TextDecoder().decode(content),
  }))
  return { ...state, files: texts }
}
