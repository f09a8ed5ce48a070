import { useHarnesses } from '../../state/server/use-api.ts'
import { HarnessChecklist } from '../home/HarnessChecklist.tsx'
import { OwnAgents } from './OwnAgents.tsx'
import { SettingsHead } from './SettingsHead.tsx'

export function AgentSettings() {
  return (
    <>
      <SettingsHead
        title="Agents"
        about="The programs that do the work. Chirality runs the ones that are installed, with the login they have."
      />
      <HarnessChecklist harnesses={useHarnesses()} />
      <OwnAgents />
    </>
  )
}
