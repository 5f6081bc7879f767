// The logins of a connector's producer that use tokens: OAUTHBEARER with OIDC, and AWS_MSK_IAM.
//
// Pure. Source: Kafka documentation, "Configuring Kafka Clients" for SASL/OAUTHBEARER;
// github.com/aws/aws-msk-iam-auth.
#pragma once

#include <optional>
#include <string_view>

#include "debezium/debezium_file.h"
#include "debezium/debezium_translation.h"
#include "debezium/jaas_config.h"

namespace walrelay {

// nullopt if `login` is not a login with tokens.
std::optional<PropertyResult> TranslateTokenLogin(const JaasLogin& login, DebeziumTranslation& out);

// sasl.oauthbearer.* and the callback handlers that belong to these logins. nullopt for another
// property.
std::optional<PropertyResult> TranslateTokenProperty(std::string_view name,
                                                     const DebeziumProperty& property,
                                                     DebeziumTranslation& out);

}  // namespace walrelay
