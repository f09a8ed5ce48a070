import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useApi } from '../../state/server/use-api.ts'
import { Button } from '../../ui/controls/Button.tsx'
import { messageOf } from '../../ui/text/error-message.ts'

/** What a persona would do without asking. It does so only when its text, as it is now, was allowed. */
export function Consent({ project, persona }: { project: string; persona: string }) {
  const api = useApi()
  const client = useQueryClient()
  const queryKey = ['persona-consent', project, persona]
  const { data } = useQuery({
    queryKey,
    queryFn: () => api.personaConsent(project, persona),
    retry: false,
  })
  const allow = useMutation({
    mutationFn: (fingerprint: string) => api.allowPersona(project, persona, fingerprint),
    onSettled: () => client.invalidateQueries({ queryKey }),
  })
  if (!data || data.grants.length === 0) return null
  const grants = data.grants.join(', ')
  if (data.isAllowed)
    return <p className="persona__note">{`You allowed this text to ${grants} without asking.`}</p>
  return (
    <div className="persona__note">
      <p>{`This text wants to ${grants} without asking. Until you allow it, each use is asked about.`}</p>
      <Button disabled={allow.isPending} onClick={() => allow.mutate(data.fingerprint)}>
        Allow this text
      </Button>
      {allow.error ? <p>{messageOf(allow.error)}</p> : null}
    </div>
  )
}
