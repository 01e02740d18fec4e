/** The function that deletes a conversation with its log, and whatever a later step keeps beside it. */

import { BE_DURABLE } from './phrases.ts'

/**
 * `delete_conversation` gives whether there was one. The record goes first: that waits for whoever is appending, and what they appended
 * is then seen by the statements after it. A step that keeps more of a conversation makes it anew, with what deletes that.
 */
export const deleteConversation = (schema: string, more = ''): string => `
CREATE OR REPLACE FUNCTION ${schema}.delete_conversation(p_conversation text) RETURNS boolean LANGUAGE plpgsql AS $body$
BEGIN
  DELETE FROM ${schema}.conversations WHERE conversation_id = p_conversation;
  IF NOT FOUND THEN
    RETURN false;
  END IF;
  ${BE_DURABLE}
  DELETE FROM ${schema}.events WHERE conversation_id = p_conversation;
  DELETE FROM ${schema}.lanes WHERE conversation_id = p_conversation;
  ${more}
  RETURN true;
END
$body$;
`
